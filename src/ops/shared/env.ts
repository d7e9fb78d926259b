/** The request context of the private listener's handlers. */
import type { HttpBindings } from '@hono/node-server';

/** `anyone`: no token is configured, so a request from this machine is enough. */
export type SignedInBy = 'token' | 'session' | 'anyone';

export interface OpsEnv {
  /** Node's own request and response; absent without a socket. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** How the request signed in; not set before that was checked. */
    signedInBy: SignedInBy;
  };
}
