/** Who may use the private listener (docs/http-api.md#private-listener, docs/architecture.md#security). */
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { errorBody } from '../shared/api-error.ts';
import type { OpsEnv, SignedInBy } from '../shared/env.ts';
import type { Sessions } from './session.ts';
import type { IsToken } from './token.ts';

export interface Lock {
  readonly isToken: IsToken;
  readonly sessions: Sessions;
}

/** How the request is signed in; null when it is not. @param lock null: no token is configured. */
export function signedInBy(c: Context<OpsEnv>, lock: Lock | null): SignedInBy | null {
  if (lock === null) return 'anyone';
  const bearer = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  if (bearer !== undefined && lock.isToken(bearer)) return 'token';
  const cookie = getCookie(c, lock.sessions.cookieName);
  return cookie !== undefined && lock.sessions.isGood(cookie) ? 'session' : null;
}

/** Refuses requests that are not signed in: people get the form, programs an error. */
export function requireSignIn(lock: Lock | null): MiddlewareHandler<OpsEnv> {
  return async (c, next) => {
    const by = signedInBy(c, lock);
    if (by === null) {
      if (isForPeople(c)) {
        const { pathname, search } = new URL(c.req.url);
        return c.redirect(`/login?next=${encodeURIComponent(pathname + search)}`, 303);
      }
      c.header('WWW-Authenticate', 'Bearer');
      return c.json(
        errorBody('invalid_token', 'send OPS_TOKEN as a bearer token, or sign in at /login'),
        401,
      );
    }
    c.set('signedInBy', by);
    await next();
    return undefined;
  };
}

/** A browser that opens a page, rather than a program or a script that wants data. */
function isForPeople(c: Context<OpsEnv>): boolean {
  return (
    (c.req.method === 'GET' || c.req.method === 'HEAD') &&
    (c.req.header('accept') ?? '').split(',').some((type) => type.trim().startsWith('text/html'))
  );
}
