/** What the private listener shows of its watchers, where nothing is watched. */
import { Monitor } from '../../src/ops/monitor.ts';
import type { OpsDeps } from '../../src/ops/operator.ts';

export function unwatched(): Pick<OpsDeps, 'metrics' | 'alarms' | 'rejected' | 'timeline'> {
  const { registry, rejected } = new Monitor();
  return {
    metrics: registry,
    alarms: { current: [] },
    rejected,
    timeline: { minutes: () => [], slowAnswers: () => [] },
  };
}
