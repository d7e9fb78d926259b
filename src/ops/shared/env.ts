/** The request context of the private listener's handlers. */
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';

/** `anyone`: no token is configured, so a request from this machine is enough. */
export type SignedInBy = 'token' | 'read_token' | 'session' | 'anyone';

export interface OpsEnv {
  /** Node's own request and response; absent without a socket. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** How the request signed in; not set before that was checked. */
    signedInBy: SignedInBy;
  };
}

/** The address that the request came from. */
export function addressOf({ env }: Context<OpsEnv>): string {
  return (env as OpsEnv['Bindings'] | undefined)?.incoming?.socket.remoteAddress ?? 'unknown';
}

/** The request changes nothing. */
export function isSafe({ req }: Context<OpsEnv>): boolean {
  return req.method === 'GET' || req.method === 'HEAD';
}
