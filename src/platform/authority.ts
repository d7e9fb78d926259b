/** Host and port as a URL has them. */

export interface Authority {
  /** A name or an address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export function authorityOf({ host, port }: Authority): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
