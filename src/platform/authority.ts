export interface Authority {
  readonly host: string;
  readonly port: number;
}

export function authorityOf({ host, port }: Authority): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
