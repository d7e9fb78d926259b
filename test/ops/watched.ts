import type { MirrorReader } from '../../src/mirror/mirror.ts';
import { Monitor } from '../../src/ops/monitor.ts';
import type { OpsDeps } from '../../src/ops/shared/operator.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { StateWatch, type StateWatchDeps } from '../../src/ops/state/state-watch.ts';
import { log } from '../reconcile/mirror.ts';

/** Samples count as quick on a busy machine too. */
export const quick = (reader: MirrorReader): MirrorReader => ({
  ask: async (...args) => Object.assign((await reader.ask(...args)) as object, { tookMs: 0 }) as never,
});

export function unwatched(
  { reader, writer }: Pick<StateWatchDeps, 'writer'> & { readonly reader: MirrorReader },
  blocked: StateWatchDeps['blocked'] = () => null,
): Pick<OpsDeps, 'metrics' | 'state' | 'timeline'> & { readonly watch: StateWatch } {
  const state = new StateSampler({ reader: quick(reader), now: Date.now, log });
  const watch = new StateWatch({
    reader,
    writer,
    log,
    blocked,
    now: Date.now,
    clockAheadMs: () => null,
    verification: () => null,
    status: () => state.last?.status ?? null,
    isReady: () => true,
  });
  return { metrics: new Monitor().registry, state, watch, timeline: { minutes: () => [] } };
}
