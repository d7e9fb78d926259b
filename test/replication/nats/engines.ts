import { pino } from 'pino';
import { RULES_VERSION } from '../../../src/core/rules-version.ts';
import { connectEngine } from '../../../src/replication/nats/engine.ts';
import type { EngineDeps, EngineOptions } from '../../../src/replication/nats/options.ts';
import type { Engine } from '../../../src/replication/transport.ts';

const log = pino({ level: 'silent' });

/** One server that asks for nothing is enough, unless a test says otherwise. */
export function connectTo(
  urls: readonly string[],
  options: Partial<EngineOptions> = {},
  { now = Date.now, rules = RULES_VERSION }: Partial<Pick<EngineDeps, 'now' | 'rules'>> = {},
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
    { name: 'test', rules, log, now },
  );
}
