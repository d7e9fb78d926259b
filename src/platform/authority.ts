export interface Authority {
  /** IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export function authorityOf({ host, port }: Authority): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
