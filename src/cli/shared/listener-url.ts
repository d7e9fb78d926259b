/** How a listener of this configuration is reached from this machine. */
import { authorityOf, type Authority } from '../../platform/authority.ts';

/** @returns null when the port is chosen at each start. */
export function urlOf(at: Authority, path = ''): string | null {
  return at.port === 0 ? null : `${baseUrlOf(at)}${path}`;
}

/** A listener on every address is reached on this machine's own. */
export function baseUrlOf({ host, port }: Authority): string {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${authorityOf({ host: own, port })}`;
}
