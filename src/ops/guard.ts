/** Who may use the private listener (DESIGN §5, §11). */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';

const error = (code: string, description: string) => ({ error: code, error_description: description });

/** Asks for the bearer token, compared in constant time. */
export function requireToken(token: string | null): MiddlewareHandler {
  const expected = token === null ? null : digest(`Bearer ${token}`);
  return async (c, next) => {
    if (expected !== null && !timingSafeEqual(digest(c.req.header('authorization') ?? ''), expected)) {
      c.header('WWW-Authenticate', 'Bearer');
      return c.json(error('invalid_token', 'send OPS_TOKEN as a bearer token'), 401);
    }
    await next();
    return undefined;
  };
}

/** A page of another site, open in the operator's browser, may not give orders here. */
export const refuseCrossSite: MiddlewareHandler = async (c, next) => {
  if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
    const origin = c.req.header('origin');
    const site = c.req.header('sec-fetch-site');
    const isForeign =
      (origin !== undefined && hostOf(origin) !== c.req.header('host')) ||
      (site !== undefined && site !== 'same-origin' && site !== 'none');
    if (isForeign) return c.json(error('access_denied', 'requests from other sites are refused'), 403);
    // A form cannot send this type, and a script of another site cannot without asking first.
    if (!/^application\/json\b/i.test(c.req.header('content-type') ?? '')) {
      return c.json(error('invalid_request', 'send a JSON body with Content-Type: application/json'), 400);
    }
  }
  await next();
  return undefined;
};

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
