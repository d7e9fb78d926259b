import type { Hono, MiddlewareHandler } from 'hono';
import { errorBody } from '../shared/api-error.ts';
import type { OpsEnv } from '../shared/env.ts';

const METHODS = ['GET', 'POST'] as const;

/** For a path that exists, but not for this method: the answer lists the methods it has (RFC 9110, 15.5.6). */
export function refuseMethods(app: Hono<OpsEnv>): MiddlewareHandler<OpsEnv> {
  const methodsOf = (path: string) =>
    METHODS.filter((method) =>
      // Besides its own routes, a path matches the middleware for all methods.
      app.router.match(method, path)[0].some(([[, route]]) => route.method === method),
    );
  return async (c, next) => {
    const asked = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const has = methodsOf(c.req.path);
    if (has.length === 0 || has.some((method) => method === asked)) return next();
    const names = has.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    c.header('Allow', [...names, 'OPTIONS'].join(', '));
    if (asked === 'OPTIONS') return c.body(null, 204);
    return c.json(
      errorBody('method_not_allowed', `${c.req.path} accepts ${names.join(', ')}, not ${asked}`),
      405,
    );
  };
}
