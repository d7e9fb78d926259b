import { authorityOf, type Authority } from '../../platform/authority.ts';

/** @returns null for port 0. */
export function urlOf(at: Authority, path = ''): string | null {
  return at.port === 0 ? null : `${baseUrlOf(at)}${path}`;
}

/** Loopback stands in for a wildcard address. */
export function baseUrlOf({ host, port }: Authority): string {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${authorityOf({ host: own, port })}`;
}
