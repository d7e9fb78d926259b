/**
 * The work of the replica that leads: it sees that there is a history, reads from the store, prunes, and puts snapshots
 * (docs/beyond-one-machine.md#the-lead).
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { UNSEEN } from '../event-log/epoch.ts';
import { createRetention } from '../mirror/retention.ts';
import type { Store } from '../mirror/store.ts';
import type { Monitor } from '../ops/monitor.ts';
import type { Logger } from '../platform/log.ts';
import { rest } from '../platform/sleep.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Fitness } from '../replication/fitness.ts';
import { knownReceiversSchema, listening } from '../replication/listening.ts';
import { membersIn, type Members } from '../replication/presence.ts';
import type { Replicator } from '../replication/replicator.ts';
import { STATE_KEYS } from '../replication/state-keys.ts';
import { TransportError, type Engine, type SnapshotFiles, type Standing } from '../replication/transport.ts';
import type { Clock } from './clock.ts';
import type { Platform } from './compose.ts';
import { createReading } from './reading.ts';
import { sharedLockout, whyNotShared } from './shared-lockout.ts';
import { untilCommitted } from './until-committed.ts';

interface LeadingDeps {
  readonly config: Pick<Config, 'service' | 'database' | 'schedules' | 'retentionDays'>;
  readonly engine: Engine;
  readonly store: Store;
  readonly fitness: Pick<Fitness, 'isLevel' | 'isPassed'>;
  readonly replicator: {
    readonly standing: Standing;
    readonly state: Pick<Replicator['state'], 'levelAtMs' | 'trouble' | 'need'>;
  };
  /** Others, as last heard of. */
  readonly members: () => Members;
  readonly makeSnapshot: (signal: AbortSignal) => Promise<(SnapshotFiles & { remove(): void }) | null>;
  readonly clock: Pick<Clock, 'now'>;
  readonly monitor: Monitor;
  readonly log: Logger;
  readonly platform: Pick<Platform, 'connect' | 'random'>;
  /** Told whom to ask of what is read; null: nobody any more. */
  readonly onReading: (reconciler: Reconciler | null) => void;
}

const LOOK_EVERY_MS = 2_000;
const LEVEL_EVERY_MS = 100;
/** Longer than a server of the engine takes to be replaced. */
const CUT_OFF_AFTER_MS = 20_000;
const SNAPSHOT_EVERY_MS = 10 * 60_000;
const SNAPSHOT_LOOK_MS = 5_000;

/** Until aborted. @throws TransportError, StoreError: another replica, or this one again, takes over. */
export async function leadWith(deps: LeadingDeps, signal: AbortSignal): Promise<void> {
  const { engine, store, fitness, replicator, clock, log, config, monitor, platform } = deps;
  await store.writer.command('settle', undefined);
  const { last_seq: changeSeq } = await store.reader.ask('status');
  const isNew = await engine.keepHistory({
    ...replicator.standing,
    changeSeq,
    nowMs: clock.now(),
    isStranded: replicator.state.need?.kind === 'snapshot',
  });
  if (isNew) {
    log.warn(
      'a new epoch has begun: consumers of the change feed start over, and every product is read again; until then its rows are suspect',
    );
  }
  // What is read now must be seen beside all that the others know.
  const beganMs = performance.now();
  while (!fitness.isLevel) {
    await rest(LEVEL_EVERY_MS, signal);
    if (signal.aborted) return;
    refuseCutOff(deps, beganMs);
  }
  const reading = createReading({
    config,
    store,
    clock,
    log,
    platform,
    monitor,
    sharing: {
      file: (file) => sharedLockout(file, { state: engine.state, service: config.service }),
      whyNotShared,
    },
  });
  const { reconciler } = reading;
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  const watching = Promise.all([
    watchReceivers(deps, reconciler, until),
    watchOperator(deps, reconciler, until),
    watchHistory(deps, until),
    watchOthers(deps, reconciler, until),
    putSnapshots(deps, until),
  ]);
  watching.catch(() => failed.abort());
  reconciler.start();
  const { writer } = store;
  const retention = createRetention({ writer, now: clock.now, log, retentionDays: config.retentionDays });
  retention.start();
  deps.onReading(reconciler);
  // A snapshot that is being put must not keep it reading for longer.
  if (!until.aborted) await once(until, 'abort');
  deps.onReading(null);
  retention.stop();
  await reading.stop();
  await watching;
}

/**
 * A lead whose engine has lost entries that it has leads no longer: whoever has most begins a new history. One that cannot
 * follow, and so reads for nothing, makes way for another.
 */
async function watchHistory(deps: LeadingDeps, signal: AbortSignal): Promise<void> {
  const { fitness, replicator } = deps;
  const beganMs = performance.now();
  while (!signal.aborted) {
    if (replicator.state.need !== null) throw new TransportError('the engine has lost its history');
    if (fitness.isPassed)
      throw new TransportError('another replica has entries that the engine has lost: it leads next');
    refuseCutOff(deps, beganMs);
    await rest(LOOK_EVERY_MS, signal);
  }
}

/** @throws TransportError */
function refuseCutOff({ replicator }: LeadingDeps, beganMs: number): void {
  const { trouble, levelAtMs } = replicator.state;
  const sinceMs = Math.max(beganMs, levelAtMs ?? 0);
  if (trouble !== null && performance.now() - sinceMs > CUT_OFF_AFTER_MS) throw new TransportError(trouble);
}

/**
 * A replica that has what the engine has lost, and may not lead, has shown it under numbers that are given out again now,
 * with another meaning. In a new epoch these mean nothing; that replica is replaced by a snapshot of it.
 */
async function watchOthers(
  { members, replicator, store, clock, log }: LeadingDeps,
  reconciler: Reconciler,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await rest(LOOK_EVERY_MS, signal);
    const { epoch: epochBefore } = replicator.standing;
    const lost = [...members().replicas.values()].filter(
      (at) => at.isLost && !at.mayLead && at.epoch === epochBefore,
    );
    if (lost.length === 0 || signal.aborted) continue;
    const epoch = randomBytes(8).toString('hex');
    const { last_seq: changeSeq } = await store.reader.ask('status');
    // What is known of the others is some seconds old.
    const givenOutSeq = Math.max(changeSeq, ...lost.map((at) => at.changeSeq)) + UNSEEN;
    log.warn(
      { epoch, epochBefore },
      'a replica has entries that the engine has lost: a new epoch begins, and every product is read again',
    );
    await store.writer.append({ kind: 'epoch', atMs: clock.now(), givenOutSeq, epoch });
    await reconciler.repairSilence(0);
  }
}

/** What was missed while nobody listened, or was in hand when one of them ended, is made up for by reading. */
async function watchReceivers(
  { engine, clock, store, log }: LeadingDeps,
  reconciler: Reconciler,
  signal: AbortSignal,
): Promise<void> {
  // Where a history has just begun, nothing was read in it yet, and receivers that stay say nothing about that.
  let isUnread = await isNothingRead(store);
  while (!signal.aborted) {
    try {
      const { receivers } = await membersIn(engine.presence);
      const kept = knownReceiversSchema.safeParse(await engine.state.get(STATE_KEYS.receivers));
      const heard = listening(kept.success ? kept.data : null, receivers, clock.now());
      const silentMs = heard?.silentMs ?? (isUnread ? 0 : null);
      if (heard !== null && silentMs !== null) {
        // A mirror that was filled, or kept by one machine, before anybody listened here.
        const isUnknown = heard.isFirst && (await store.reader.ask('lastFullSync')) === null;
        log.info({ silentMs }, 'what receivers may have missed, or was never read, is read');
        await untilCommitted(() => reconciler.repairSilence(isUnknown ? null : silentMs), signal);
        isUnread = false;
      }
      // After it is in the event log: another lead would not know otherwise.
      if (heard !== null) await engine.state.put(STATE_KEYS.receivers, heard.known);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TransportError)) throw error;
    }
    await rest(LOOK_EVERY_MS, signal);
  }
}

/** And no lead before this one has begun to. */
async function isNothingRead({ reader }: Pick<Store, 'reader'>): Promise<boolean> {
  if ((await reader.ask('lastFullSync')) !== null) return false;
  return (await reader.ask('runningRuns')).length === 0;
}

/** An operator may ask any replica. */
async function watchOperator(
  { engine, store }: LeadingDeps,
  reconciler: Reconciler,
  signal: AbortSignal,
): Promise<void> {
  const wordSchema = z.string().nullable().catch(null);
  let heard: string | null | undefined;
  while (!signal.aborted) {
    try {
      const word = wordSchema.parse(await engine.state.get(STATE_KEYS.operatorWord));
      if (heard !== undefined && word !== heard) {
        await store.writer.command('retryFailures', undefined);
        await reconciler.lift();
      }
      heard = word;
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
    }
    await rest(LOOK_EVERY_MS, signal);
  }
}

/** Often enough that few entries come after the newest, and one as soon as there is none of this history. */
async function putSnapshots(
  { engine, makeSnapshot, replicator, log }: LeadingDeps,
  signal: AbortSignal,
): Promise<void> {
  const dueMs = performance.now() + SNAPSHOT_EVERY_MS;
  let next = { dueMs, lastSeq: -1 };
  while (!signal.aborted) {
    await rest(SNAPSHOT_LOOK_MS, signal);
    if (signal.aborted) return;
    try {
      const { standing: reached } = replicator;
      const { epoch, lastSeq: reachedSeq } = reached;
      // Whoever begins anew in a new history needs one at once, also when the lead before ended before it put it.
      const isFirst = (await engine.state.get(STATE_KEYS.snapshotEpoch)) !== epoch;
      if (!isFirst && (performance.now() < next.dueMs || reachedSeq === next.lastSeq)) continue;
      const files = await makeSnapshot(signal);
      if (files === null) return;
      try {
        await engine.putSnapshot(files, reached);
      } finally {
        files.remove();
      }
      await engine.state.put(STATE_KEYS.snapshotEpoch, epoch);
      next = { dueMs: performance.now() + SNAPSHOT_EVERY_MS, lastSeq: reachedSeq };
      log.info({ lastSeq: reachedSeq }, 'a snapshot was put, from which new replicas begin');
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'a snapshot could not be put; it is tried again');
    }
  }
}
