import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createStateGauges } from '../../../src/ops/metrics/state-gauges.ts';
import { StateSampler } from '../../../src/ops/state/state-sampler.ts';
import type { Verdict } from '../../../src/ops/state/state.ts';
import { present } from '../../shared/present.ts';
import { log, newDatabases } from '../../reconcile/mirror.ts';
import { valueOf } from './exposition.ts';

test('shows no trusted quantity while the state is stale, whatever the last sample counted', async () => {
  const sampler = new StateSampler({ reader: newDatabases().mirror, now: Date.now, log });
  await sampler.status();
  const counted = present(sampler.last);
  const sample = { ...counted, status: { ...counted.status, sellable: { total: 146, trusted: 138 } } };
  const registry = new Registry();
  let state: Verdict['state'] = 'live';
  createStateGauges(registry, Date.now, () => ({
    sample,
    lastAcceptedAtMs: null,
    mirror: () => Promise.resolve({ state, causes: [] }),
  }));
  const shown = async (): Promise<(number | null)[]> => {
    const metrics = await registry.metrics();
    return ['1', '0'].map((trusted) => valueOf(metrics, `stock_mirror_sellable{trusted="${trusted}"}`));
  };
  expect(await shown()).toEqual([138, 8]);
  state = 'stale';
  expect(await shown()).toEqual([0, 146]);
});
