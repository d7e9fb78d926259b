import type { Config } from '../../src/config/config.ts';
import { Secret } from '../../src/platform/secret.ts';

/** Of what reads from the store, on no schedule. */
export const READING_CONFIG: Pick<Config, 'service' | 'database' | 'schedules'> = {
  service: {
    baseUrl: 'https://store.example',
    clientId: 'id',
    clientSecret: new Secret('secret'),
    webhookSecrets: [new Secret('secret')],
    maxConcurrency: 8,
    maxRps: 1_000,
  },
  database: { path: '/nowhere/mirror.db' },
  schedules: {
    reconcileCron: null,
    resyncCron: null,
    timezone: null,
    readsPerHour: 0,
    longestUnreadMs: 1e9,
  },
};
