/** A page of another site, open in the operator's browser, must not be able to act here. */
import type { MiddlewareHandler } from 'hono';
import { errorBody } from '../shared/api-error.ts';
import type { OpsEnv } from '../shared/env.ts';

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD';

export const refuseCrossSite: MiddlewareHandler<OpsEnv> = async (c, next) => {
  if (!isSafe(c.req.method) && isForeign(c.req.header('sec-fetch-site'), c.req.header())) {
    return c.json(errorBody('access_denied', 'requests from other sites are refused'), 403);
  }
  await next();
  return undefined;
};

/** A form cannot send this type, and a script of another site cannot without a preflight request. */
export const requireJson: MiddlewareHandler<OpsEnv> = async (c, next) => {
  if (!isSafe(c.req.method) && !/^application\/json\b/i.test(c.req.header('content-type') ?? '')) {
    return c.json(errorBody('invalid_request', 'send a JSON body with Content-Type: application/json'), 400);
  }
  await next();
  return undefined;
};

/** No page can forge `Sec-Fetch-Site`; it is missing over plain http, except on this machine. */
function isForeign(site: string | undefined, headers: Record<string, string>): boolean {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin, host } = headers;
  return origin !== undefined && hostOf(origin) !== host;
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
