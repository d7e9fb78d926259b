/**
 * A replica from the opening of its files until they must be replaced by a snapshot: it copies entries, applies them, shows
 * the mirror and, while it leads, reads from the store (docs/beyond-one-machine.md#replicas).
 */
import type { ServeConfig } from '../config/config.ts';
import { RULES_VERSION } from '../core/rules-version.ts';
import { createHeartbeat } from '../intake/heartbeat.ts';
import type { StoreEvents, StoreParts } from '../mirror/open-store.ts';
import type { Store } from '../mirror/store.ts';
import type { createOpsApp } from '../ops/app.ts';
import type { ReplicationView } from '../ops/condition/replication.ts';
import type { Monitor } from '../ops/monitor.ts';
import type { Logger } from '../platform/log.ts';
import { asError } from '../platform/thrown.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { Fitness } from '../replication/fitness.ts';
import { Lead } from '../replication/lead.ts';
import type { MadeSnapshot } from '../replication/make-snapshot.ts';
import { tellOfReplica, type Members, type ReplicaNote } from '../replication/presence.ts';
import { Replicator } from '../replication/replicator.ts';
import { SharedLog } from '../replication/shared-log.ts';
import type { Engine, Source } from '../replication/transport.ts';
import { StoreError } from '../sqlite/errors.ts';
import { createClock } from './clock.ts';
import type { Platform } from './compose.ts';
import { leadWith } from './leading.ts';
import { operatorOf } from './shared-operator.ts';
import { createShowing } from './showing.ts';
import { nameWarehouses, tellFacts, tellNews } from './store-wiring.ts';

interface ReplicaDeps {
  readonly config: ServeConfig;
  readonly name: string;
  readonly source: Source;
  /** Null: entries are copied, and none are added. */
  readonly engine: Engine | null;
  /** Others, as last heard of. */
  readonly members: () => Members;
  /** Since when they are heard of without a break, on the monotonic clock; null: they are not. */
  readonly hearsSinceMs: () => number | null;
  readonly mayLead: boolean;
  readonly monitor: Monitor;
  readonly replication: () => ReplicationView;
  readonly log: Logger;
  readonly onDeath: (error: Error) => void;
  readonly platform: Pick<Platform, 'connect' | 'random'> & ReplicaPlatform;
  readonly createOpsApp: typeof createOpsApp;
}

/** What a replica's files stand on. */
export interface ReplicaPlatform {
  openReplica(path: string, events: StoreEvents, share: (parts: StoreParts) => SharedLog): Promise<Store>;
  makeSnapshot(path: string, signal: AbortSignal): Promise<MadeSnapshot | null>;
}

export interface Replica {
  readonly app: ReturnType<typeof createOpsApp>;
  readonly view: Pick<ReplicationView, 'replica' | 'lead'>;
  readonly observer: ReturnType<typeof createShowing>['observer'];
  /** Nothing was ever copied: its mirror shows nothing, under an epoch that nobody else has. */
  readonly isEmpty: boolean;
  /** It cannot continue from its files. They are shown until a snapshot is here. */
  readonly needsSnapshot: boolean;
  /** Resolves when its files cannot even be shown any more. @throws Error */
  readonly ended: Promise<'unfit'>;
  stop(): Promise<void>;
}

/** @throws StoreError `unfit_copy` when its files do not belong together. */
export async function startReplica(deps: ReplicaDeps): Promise<Replica> {
  const { config, name, source, engine, members, mayLead, monitor, log, platform } = deps;
  const stopping = new AbortController();
  const ended = Promise.withResolvers<'unfit'>();
  ended.promise.catch(() => undefined);
  // The mirror's file holds something that the copied entries do not explain.
  const { store, parts, shared } = await openFiles(deps, () => ended.resolve('unfit'));
  const clock = createClock(store.life.aliveAtMs ?? 0);
  const replicator: Replicator = new Replicator(
    {
      source,
      copy: (args) => parts.log.copy(args),
      applied: (seq) => parts.projection.applied(seq),
      onCopied: (positions, places) => shared.copied(positions, places),
      isPassed: () => fitness.isPassed,
      // In another history the engine gives positions out a second time.
      onEpoch: () => shared.giveUp(new StoreError('cannot_commit', 'another history has begun meanwhile')),
      log,
    },
    { epoch: parts.log.epoch, lastSeq: parts.log.lastSeq, cursor: parts.log.copiedFrom?.cursor ?? null },
  );
  const fitness: Fitness = new Fitness({
    name,
    rules: RULES_VERSION,
    members,
    hearsSinceMs: deps.hearsSinceMs,
    following: () => replicator.state,
    standing: () => replicator.standing,
  });
  // Readers of the file recognise by the age of `alive_at` that the replica is cut off.
  const heartbeat = createHeartbeat(
    {
      beat: (atMs) => store.writer.beat(atMs),
      show: async (atMs) => {
        if (fitness.isUpToDate) await store.writer.command('alive', { atMs });
      },
    },
    Date.now,
  );
  let reconciler: Reconciler | null = null;
  const { service } = config;
  const lead =
    engine === null || !mayLead || service === null
      ? null
      : new Lead({
          lease: engine.lease,
          name,
          isFit: () => fitness.isFit,
          lead: (signal) =>
            leadWith(
              {
                config: { ...config, service },
                engine,
                store,
                fitness,
                replicator,
                members,
                makeSnapshot: (until) => platform.makeSnapshot(config.database.path, until),
                clock,
                monitor,
                log,
                platform,
                onReading: (reading) => (reconciler = reading),
              },
              signal,
            ),
          log,
        });
  const operator = operatorOf({
    store,
    engine,
    origin: source.name,
    now: clock.now,
    log,
    reconciler: () => reconciler,
    members,
  });
  const showing = createShowing({
    config,
    store,
    monitor,
    operator,
    now: clock.now,
    log,
    stopping: stopping.signal,
    replication: deps.replication,
  });
  tellFacts(store, log);
  const fail = (error: unknown): void => ended.reject(asError(error));
  const following = replicator.run(stopping.signal).then(() => undefined, fail);
  const note = (): ReplicaNote => ({
    epoch: replicator.standing.epoch,
    lastSeq: replicator.standing.lastSeq,
    isUpToDate: fitness.isUpToDate,
    isLeading: reconciler !== null,
    isLost: fitness.isLost,
    rules: RULES_VERSION,
    changeSeq: showing.lastChangeSeq,
    mayLead: lead !== null,
    blocked: blockedNote(reconciler),
  });
  const telling =
    engine === null
      ? Promise.resolve()
      : tellOfReplica(engine.presence, name, note, stopping.signal).catch(fail);
  const leading = lead?.run(stopping.signal).catch(fail) ?? Promise.resolve();
  const shown = store.opened.then(async () => {
    if (stopping.signal.aborted) return;
    heartbeat.begin();
    showing.start();
    // Without names of its own it keeps those that came with its snapshot.
    if (config.warehouseNames.size > 0) await nameWarehouses({ store, config, log }, stopping.signal);
  }, fail);
  return {
    app: showing.app(deps.createOpsApp),
    observer: showing.observer,
    get isEmpty() {
      return parts.log.copiedFrom === null && replicator.standing.lastSeq === 0;
    },
    get needsSnapshot() {
      return fitness.needsSnapshot;
    },
    ended: ended.promise,
    get view() {
      return {
        replica: viewOf(replicator, fitness),
        lead: lead === null ? null : { is_leading: lead.isLeading },
      };
    },
    async stop(): Promise<void> {
      store.leave();
      stopping.abort();
      shared.giveUp(new StoreError('closed', 'the replica stops'), { forGood: true });
      await Promise.all([leading, following, telling]);
      await heartbeat.stop();
      await showing.stop();
      await store.close();
      await shown;
    },
  };
}

interface Files {
  readonly store: Store;
  readonly parts: StoreParts;
  /** What the mirror writes to. */
  readonly shared: SharedLog;
}

/** @throws StoreError */
async function openFiles(
  { config, source, engine, monitor, log, onDeath, platform }: ReplicaDeps,
  onUnfit: () => void,
): Promise<Files> {
  const news = tellNews(log);
  const shares = Promise.withResolvers<Omit<Files, 'store'>>();
  const store = await platform.openReplica(
    config.database.path,
    {
      onDeath,
      onCommit: monitor.onCommit,
      onNews: news.onNews,
      onApplyNews: (told) => {
        if (told.error?.kind === 'unfit_copy') onUnfit();
        else news.onApplyNews(told);
      },
    },
    (parts) => {
      const { log: own, projection } = parts;
      const appliedSeq = (): number => projection.appliedSeq;
      const shared = new SharedLog({ log: own, engine, origin: source.name, appliedSeq });
      shares.resolve({ parts, shared });
      return shared;
    },
  );
  return { store, ...(await shares.promise) };
}

function viewOf({ state }: Replicator, { isUpToDate }: Fitness): ReplicationView['replica'] {
  const { left, upToDateAtMs, trouble, troubleAtMs } = state;
  const nowMs = performance.now();
  const sinceMs = (atMs: number | null): number | null => (atMs === null ? null : Math.max(0, nowMs - atMs));
  return {
    left,
    behind_ms: sinceMs(upToDateAtMs),
    is_up_to_date: isUpToDate,
    trouble,
    trouble_ms: sinceMs(troubleAtMs),
  };
}

function blockedNote(reconciler: Reconciler | null): ReplicaNote['blocked'] {
  const blocked = reconciler?.blocked ?? null;
  return blocked === null ? null : { kind: blocked.kind, message: blocked.message, untilMs: blocked.untilMs };
}
