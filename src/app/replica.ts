/**
 * One life of a replica: its files opened, what is elsewhere copied into them and applied, shown, and, where it may lead,
 * read from the store (docs/beyond-one-machine.md#replicas). It ends when its files must be replaced by a snapshot.
 */
import type { Config, ServeConfig } from '../config/config.ts';
import { RULES_VERSION } from '../core/rules-version.ts';
import { createHeartbeat } from '../intake/heartbeat.ts';
import { createRetention } from '../mirror/retention.ts';
import type { StoreParts } from '../mirror/open-store.ts';
import type { Store } from '../mirror/store.ts';
import type { createOpsApp } from '../ops/app.ts';
import type { ReplicationView } from '../ops/condition/replication.ts';
import type { Monitor } from '../ops/monitor.ts';
import { FactLog } from '../ops/state/fact-log.ts';
import type { Logger } from '../platform/log.ts';
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
import { untilCommitted } from './until-committed.ts';

interface ReplicaDeps {
  readonly config: ServeConfig;
  readonly name: string;
  readonly source: Source;
  /** Null: entries are copied, and none are added. */
  readonly engine: Engine | null;
  /** Others, as last heard of. */
  readonly members: () => Members;
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
  openReplica(
    path: string,
    events: {
      readonly onDeath: (error: Error) => void;
      readonly onCommit: Monitor['onCommit'];
      readonly onNews: (news: { readonly message: string }) => void;
      readonly onApplyNews: (news: { readonly error: StoreError | null; readonly message: string }) => void;
    },
    share: (parts: StoreParts) => SharedLog,
  ): Promise<Store>;
  makeSnapshot(path: string, signal: AbortSignal): Promise<MadeSnapshot | null>;
}

export interface Replica {
  readonly app: ReturnType<typeof createOpsApp>;
  readonly view: Pick<ReplicationView, 'replica' | 'lead'>;
  readonly observer: ReturnType<typeof createShowing>['observer'];
  /** Nothing was ever copied: its mirror shows nothing, under an epoch that nobody else has. */
  readonly isEmpty: boolean;
  /** It cannot go on from what it has, which it shows meanwhile. */
  readonly needsSnapshot: boolean;
  /** Resolves when not even that can be shown. @throws Error */
  readonly ended: Promise<'unfit'>;
  stop(): Promise<void>;
}

/** @throws StoreError `unfit_copy` when its files do not belong together. */
export async function startReplica(deps: ReplicaDeps): Promise<Replica> {
  const { config, name, source, engine, members, mayLead, monitor, log, platform } = deps;
  const stopping = new AbortController();
  const ended = Promise.withResolvers<'unfit'>();
  ended.promise.catch(() => undefined);
  const shares = Promise.withResolvers<{ readonly parts: StoreParts; readonly shared: SharedLog }>();
  const store = await platform.openReplica(
    config.database.path,
    {
      onDeath: deps.onDeath,
      onCommit: monitor.onCommit,
      onNews: ({ message, ...details }) => log.warn(details, message),
      onApplyNews: ({ message, error }) => {
        // What was copied does not lead to the mirror's file any more.
        if (error?.kind === 'unfit_copy') ended.resolve('unfit');
        else if (error === null) log.warn(message);
        else log.error({ err: error }, message);
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
  const { parts, shared } = await shares.promise;
  const { life } = store;
  const clock = createClock(life.aliveAtMs ?? 0);
  const replicator: Replicator = new Replicator(
    {
      source,
      copy: (args) => parts.log.copy(args),
      applied: (seq) => parts.projection.applied(seq),
      onCopied: (positions, places) => shared.copied(positions, places),
      isPassed: () => fitness.isPassed,
      // Positions begin again, or are given out a second time.
      onEpoch: () => shared.giveUp(new StoreError('cannot_commit', 'another history has begun meanwhile')),
      log,
    },
    { epoch: parts.log.epoch, lastSeq: parts.log.lastSeq, cursor: parts.log.copiedFrom?.cursor ?? null },
  );
  const fitness: Fitness = new Fitness({
    name,
    rules: RULES_VERSION,
    members,
    following: () => replicator.state,
    standing: () => replicator.standing,
  });
  // Those who read the file see by its age that it does not follow any more.
  const heartbeat = createHeartbeat(
    {
      beat: (atMs) => store.writer.beat(atMs),
      show: async (atMs) => {
        if (fitness.isLevel) await store.writer.command('alive', { atMs });
      },
    },
    Date.now,
  );
  let reconciler: Reconciler | null = null;
  const note = (): ReplicaNote => ({
    epoch: replicator.standing.epoch,
    lastSeq: replicator.standing.lastSeq,
    isLevel: fitness.isLevel,
    isLeading: reconciler !== null,
    isLost: fitness.isLost,
    rules: RULES_VERSION,
    changeSeq: showing.lastChangeSeq,
    mayLead: lead !== null,
    blocked: blockedNote(reconciler),
  });
  const lead =
    engine === null || !mayLead || config.service === null
      ? null
      : leadOf({ engine, service: config.service });
  function leadOf(found: { readonly engine: Engine; readonly service: Config['service'] }): Lead {
    return new Lead({
      lease: found.engine.lease,
      name,
      isFit: () => Promise.resolve(fitness.isFit),
      lead: (signal) =>
        leadWith(
          {
            config: { ...config, service: found.service },
            engine: found.engine,
            store,
            standing: () => replicator.standing,
            members,
            isLevel: () => fitness.isLevel,
            isPassed: () => fitness.isPassed,
            following: () => replicator.state,
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
  }
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
    pruner: createRetention({
      writer: store.writer,
      now: clock.now,
      log,
      retentionDays: config.retentionDays,
    }),
    now: clock.now,
    log,
    stopping: stopping.signal,
    replication: deps.replication,
  });
  const factLog = new FactLog(log);
  store.writer.onApplied(({ reports }) => {
    for (const { facts, seq } of reports) for (const fact of facts) factLog.tell(fact, seq);
  });
  const fail = (error: unknown): void =>
    ended.reject(error instanceof Error ? error : new Error(String(error)));
  const noting = setInterval(() => shared.note(), NOTE_EVERY_MS);
  const following = replicator.run(stopping.signal).then(() => undefined, fail);
  const telling =
    engine === null
      ? Promise.resolve()
      : tellOfReplica(engine.presence, name, note, stopping.signal).catch(fail);
  const leading = lead?.run(stopping.signal).catch(fail) ?? Promise.resolve();
  const nameWarehouses = async (): Promise<void> => {
    const names = Object.fromEntries(config.warehouseNames);
    await store.writer.command('nameWarehouses', { names });
  };
  const shown = store.opened.then(async () => {
    if (stopping.signal.aborted) return;
    heartbeat.begin();
    showing.start();
    try {
      await untilCommitted(nameWarehouses, stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) log.error({ err: error }, 'WAREHOUSE_NAMES could not be written');
    }
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
      const { left, levelAtMs, trouble, troubleAtMs } = replicator.state;
      const nowMs = performance.now();
      const sinceMs = (atMs: number | null): number | null =>
        atMs === null ? null : Math.max(0, nowMs - atMs);
      return {
        replica: { left, behind_ms: sinceMs(levelAtMs), trouble, trouble_ms: sinceMs(troubleAtMs) },
        lead: lead === null ? null : { is_leading: lead.isLeading, holder: lead.holder },
      };
    },
    async stop(): Promise<void> {
      store.leave();
      stopping.abort();
      shared.giveUp(new StoreError('closed', 'the replica stops'), { forGood: true });
      clearInterval(noting);
      await Promise.all([leading, following, telling]);
      await heartbeat.stop();
      await showing.stop();
      await store.close();
      await shown;
    },
  };
}

const NOTE_EVERY_MS = 250;

function blockedNote(reconciler: Reconciler | null): ReplicaNote['blocked'] {
  const blocked = reconciler?.blocked ?? null;
  return blocked === null ? null : { kind: blocked.kind, message: blocked.message, untilMs: blocked.untilMs };
}
