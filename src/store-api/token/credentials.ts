import { createHmac } from 'node:crypto';

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Identifies credentials, and does not show them. */
export function fingerprintOf(baseUrl: string, { clientId, clientSecret }: Credentials): string {
  return createHmac('sha256', clientSecret)
    .update(JSON.stringify([baseUrl, clientId]))
    .digest('hex');
}
