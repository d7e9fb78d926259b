/** What the private listener shows of its watchers, where nothing is watched. */
import { Monitor } from '../../src/ops/monitor.ts';
import type { OpsDeps } from '../../src/ops/shared/operator.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import type { Store } from '../../src/mirror/store.ts';
import { log } from '../reconcile/mirror.ts';

export function unwatched({
  reader,
}: Pick<Store, 'reader'>): Pick<OpsDeps, 'metrics' | 'state' | 'alarms' | 'timeline'> {
  const { registry } = new Monitor();
  return {
    metrics: registry,
    state: new StateSampler({ reader, now: Date.now, log }),
    alarms: { current: [], own: null, condition: null, maxRps: null },
    timeline: { minutes: () => [] },
  };
}
