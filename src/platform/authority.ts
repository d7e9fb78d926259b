import { isIP } from 'node:net';

export interface Authority {
  readonly host: string;
  readonly port: number;
}

export function authorityOf({ host, port }: Authority): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** @param host a name or an address, without brackets. */
export function isLoopback(host: string): boolean {
  return /^localhost$/i.test(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
