import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';

/** `anyone`: no token is configured, so any request from this machine is accepted. */
export type SignedInBy = 'token' | 'read_token' | 'session' | 'anyone';

export interface OpsEnv {
  /** Absent without a socket. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** Set by `requireSignIn`. */
    signedInBy: SignedInBy;
  };
}

export function addressOf({ env }: Context<OpsEnv>): string {
  return (env as OpsEnv['Bindings'] | undefined)?.incoming?.socket.remoteAddress ?? 'unknown';
}

export function isSafe({ req }: Context<OpsEnv>): boolean {
  return req.method === 'GET' || req.method === 'HEAD';
}

/** Whether the answer is for a person with a browser. */
export function wantsPage({ req }: Context): boolean {
  return (req.header('accept') ?? '').includes('text/html');
}
