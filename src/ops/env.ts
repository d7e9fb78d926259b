/** What the private listener's handlers find in a request's context. */
import type { HttpBindings } from '@hono/node-server';
import type { SignedInBy } from './access/signed-in.ts';

export interface OpsEnv {
  /** Node's own request and answer; absent where no socket is. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** How the request showed that it may be here; not set before it did. */
    signedInBy: SignedInBy;
  };
}
