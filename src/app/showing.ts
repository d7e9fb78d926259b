/** What shows a mirror to people and programs: samples, plots, alarms, metrics, the private listener's application. */
import type { Config } from '../config/config.ts';
import type { IntakeObserver } from '../intake/observer.ts';
import type { Store } from '../mirror/store.ts';
import type { createOpsApp } from '../ops/app.ts';
import type { Monitor } from '../ops/monitor.ts';
import type { Operator } from '../ops/shared/operator.ts';
import { StateSampler } from '../ops/state/state-sampler.ts';
import { LiveTimeline } from '../ops/state/timeline.ts';
import type { Logger } from '../platform/log.ts';

interface ShowingDeps {
  readonly config: Pick<Config, 'service' | 'ops' | 'warehouseNames'>;
  readonly store: Store;
  readonly monitor: Monitor;
  readonly operator: Operator;
  readonly now: () => number;
  readonly log: Logger;
  /** Aborted when the mirror stops. */
  readonly stopping: AbortSignal;
}

interface Showing {
  /** Of the public listener, for the plots. */
  readonly observer: IntakeObserver;
  app(create: typeof createOpsApp): ReturnType<typeof createOpsApp>;
  /** Before any request to the store, so that no run is missed. */
  start(): void;
  /** The mirror was not listening for a while, up to now. */
  stoodStill(): void;
  /** While the mirror can still be written. */
  stop(): Promise<void>;
}

export function createShowing(deps: ShowingDeps): Showing {
  const { config, store, monitor, operator, now, log, stopping } = deps;
  const { reader, writer } = store;
  const sampler = new StateSampler({ reader, now, log });
  const timeline = new LiveTimeline({ reader, writer, sampler, now, log });
  const watch = monitor.watch({
    store,
    sampler,
    operator,
    maxRps: config.service.maxRps,
    now,
    log,
    plotted: timeline,
  });
  return {
    observer: timeline.observer,
    app: (create) =>
      create({
        reader,
        writer,
        operator,
        token: config.ops.token?.reveal() ?? null,
        metrics: monitor.registry,
        state: sampler,
        alarms: watch.alarms,
        timeline,
        warehouseNames: config.warehouseNames,
        now,
        log,
        stopping,
      }),
    start(): void {
      watch.start();
      timeline.start();
      sampler.start();
    },
    stoodStill: () => watch.stoodStill(),
    async stop(): Promise<void> {
      await sampler.stop();
      await watch.stop();
      await timeline.stop();
    },
  };
}
