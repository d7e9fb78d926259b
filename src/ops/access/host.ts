import type { MiddlewareHandler } from 'hono';
import { errorBody } from '../api-error.ts';
import type { OpsEnv } from '../env.ts';

/**
 * Without a token, only names of this machine are answered to. A foreign page whose own name was made to resolve to
 * 127.0.0.1 is of one origin with the listener as the browser sees it, and only the Host header still tells its name.
 * The port says nothing of that, and differs where one is forwarded (`ssh -L 9000:127.0.0.1:8788`): any is accepted.
 */
export const refuseForeignHost: MiddlewareHandler<OpsEnv> = async (c, next) => {
  const host = c.req.header('host');
  const name = host === undefined ? new URL(c.req.url).hostname : nameIn(host);
  if (!isThisMachine(name)) {
    return c.json(
      errorBody('access_denied', 'without OPS_TOKEN it is open by 127.0.0.1, [::1] and localhost only'),
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
