/** What shows a mirror to people and programs: samples, plots, alarms, metrics, the private listener's application. */
import type { Config } from '../config/config.ts';
import type { IntakeObserver } from '../intake/observer.ts';
import type { Store } from '../mirror/store.ts';
import type { createOpsApp } from '../ops/app.ts';
import type { ReplicationView } from '../ops/condition/replication.ts';
import type { Monitor } from '../ops/monitor.ts';
import type { Operator, OpsDeps } from '../ops/shared/operator.ts';
import { StateSampler } from '../ops/state/state-sampler.ts';
import { LiveTimeline } from '../ops/state/timeline.ts';
import type { Logger } from '../platform/log.ts';
import { removeLeftSnapshots } from '../replication/snapshot-files.ts';

interface ShowingDeps {
  readonly config: Pick<Config, 'database' | 'ops' | 'warehouseNames'> & {
    readonly service: Pick<Config['service'], 'maxRps'> | null;
  };
  readonly store: Store;
  readonly monitor: Monitor;
  readonly operator: Operator;
  readonly now: () => number;
  readonly log: Logger;
  /** Aborted when the mirror stops. */
  readonly stopping: AbortSignal;
  /** Left out: the event log is this machine's own. */
  readonly replication?: () => ReplicationView;
}

interface Showing {
  /** Of the public listener, for the plots. */
  readonly observer: IntakeObserver;
  app(create: typeof createOpsApp): ReturnType<typeof createOpsApp>;
  /** The last number of the change feed, as of the last sample. */
  readonly lastChangeSeq: number;
  /** Before any request to the store, so that no run is missed. */
  start(): void;
  /** The mirror was not listening for a while, up to now. */
  stoodStill(): void;
  /** While the mirror can still be written. */
  stop(): Promise<void>;
}

export function createShowing(deps: ShowingDeps): Showing {
  const { config, store, monitor, operator, now, log, stopping, replication } = deps;
  const { reader, writer } = store;
  const sampler = new StateSampler({ reader, now, log });
  const timeline = new LiveTimeline({ reader, writer, sampler, now, log });
  const watch = monitor.watch({
    store,
    sampler,
    operator,
    maxRps: config.service?.maxRps,
    now,
    log,
    plotted: timeline,
    replication,
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
        rejected: monitor.rejected,
        timeline,
        warehouseNames: config.warehouseNames,
        makeSnapshot: snapshotsOf(config.database.path),
        now,
        log,
        stopping,
      }),
    get lastChangeSeq() {
      return sampler.last?.status.last_seq ?? 0;
    },
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

/** Only where a copy on another machine asks for one. */
function snapshotsOf(path: string): OpsDeps['makeSnapshot'] {
  removeLeftSnapshots(path);
  return async (signal) => {
    const { makeSnapshot } = await import('../replication/make-snapshot.ts');
    return makeSnapshot(path, 'snapshot-copied', signal);
  };
}
