import { pino } from 'pino';
import { connectEngine } from '../../../src/replication/nats/engine.ts';
import type { EngineOptions } from '../../../src/replication/nats/options.ts';
import type { Engine } from '../../../src/replication/transport.ts';

const log = pino({ level: 'silent' });

/** One server that asks for nothing is enough, unless a test says otherwise. */
export function connectTo(
  urls: readonly string[],
  options: Partial<EngineOptions> = {},
  now: () => number = Date.now,
): Promise<Engine> {
  return connectEngine(
    {
      urls,
      store: 'store',
      replicas: urls.length,
      isNew: true,
      user: null,
      password: null,
      token: null,
      caFile: null,
      ...options,
    },
    { name: 'test', log, now },
  );
}
