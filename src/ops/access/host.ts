import type { MiddlewareHandler } from 'hono';
import { errorBody } from '../shared/api-error.ts';
import type { OpsEnv } from '../shared/env.ts';

/**
 * Without a token, only requests that name this machine are answered. This defeats DNS rebinding: to the browser, a
 * foreign page whose name resolves to 127.0.0.1 has the listener's origin, and only the Host header still shows its name.
 * Any port is accepted: it differs where one is forwarded (`ssh -L 9000:127.0.0.1:8788`).
 */
export const refuseForeignHost: MiddlewareHandler<OpsEnv> = async (c, next) => {
  const host = c.req.header('host');
  const name = host === undefined ? new URL(c.req.url).hostname : nameIn(host);
  if (!isThisMachine(name)) {
    return c.json(
      errorBody(
        'access_denied',
        'without OPS_TOKEN, only requests to 127.0.0.1, [::1] or localhost are answered',
      ),
      403,
    );
  }
  await next();
  return undefined;
};

/** Of `localhost:8788` and `[::1]:8788`, without the port. */
function nameIn(host: string): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

function isThisMachine(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}
