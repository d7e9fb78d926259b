/**
 * The work of the lead: it sees that the engine holds a history, reads from the store, prunes, and uploads snapshots
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
  readonly fitness: Pick<Fitness, 'isUpToDate' | 'isPassed'>;
  readonly replicator: {
    readonly standing: Standing;
    readonly state: Pick<Replicator['state'], 'upToDateAtMs' | 'trouble' | 'need'>;
  };
  /** Others, as last heard of. */
  readonly members: () => Members;
  readonly makeSnapshot: (signal: AbortSignal) => Promise<(SnapshotFiles & { remove(): void }) | null>;
  readonly clock: Pick<Clock, 'now'>;
  readonly monitor: Monitor;
  readonly log: Logger;
  readonly platform: Pick<Platform, 'connect' | 'random'>;
  /** Called with the reconciler while this replica leads, then with null. */
  readonly onReading: (reconciler: Reconciler | null) => void;
}

const LOOK_EVERY_MS = 2_000;
const UP_TO_DATE_EVERY_MS = 100;
/** Longer than a server of the engine takes to be replaced. */
const CUT_OFF_AFTER_MS = 20_000;
const SNAPSHOT_EVERY_MS = 10 * 60_000;
const SNAPSHOT_LOOK_MS = 5_000;
/** After the first failure; twice as long after each one that follows. */
const SNAPSHOT_RETRY_MS = 30_000;

/** Until aborted. @throws TransportError, StoreError: another replica, or this one again, takes over. */
export async function leadWith(deps: LeadingDeps, signal: AbortSignal): Promise<void> {
  const { engine, store, fitness, replicator, clock, log, config, monitor, platform } = deps;
  await store.writer.command('settle', undefined);
  const { last_seq: changeSeq } = await store.reader.ask('status');
  const isStranded = replicator.state.need?.kind === 'snapshot';
  const from = { ...replicator.standing, changeSeq, nowMs: clock.now(), isStranded };
  const isNew = await engine.keepHistory(from, signal);
  if (isNew) {
    log.warn(
      'a new epoch has begun: consumers of the change feed start over, and every product is read again; until then its rows are suspect',
    );
  }
  // A read must be judged beside everything that the others have already applied.
  const beganMs = performance.now();
  while (!fitness.isUpToDate) {
    await rest(UP_TO_DATE_EVERY_MS, signal);
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
 * The lead steps down when the engine has lost entries that it has, so that the replica with most of them begins a new
 * history, and when it cannot copy, since its reads would not come back to it.
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
  const { trouble, upToDateAtMs } = replicator.state;
  const sinceMs = Math.max(beganMs, upToDateAtMs ?? 0);
  if (trouble !== null && performance.now() - sinceMs > CUT_OFF_AFTER_MS) throw new TransportError(trouble);
}

/**
 * A replica that may not lead can hold entries that the engine has lost. Their numbers are now being given out again, with
 * another meaning. A new epoch makes the old ones invalid, and that replica takes a snapshot of it.
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

/** Reads what may have been lost: webhooks while no receiver was up, or in the hands of one that ended. */
async function watchReceivers(
  { engine, clock, store, log }: LeadingDeps,
  reconciler: Reconciler,
  signal: AbortSignal,
): Promise<void> {
  // In a new history nothing has been read yet, even when all receivers stayed up.
  let isUnread = await isNothingRead(store);
  let sinceMs: number | null = null;
  while (!signal.aborted) {
    try {
      const { receivers } = await membersIn(engine.presence);
      const kept = knownReceiversSchema.safeParse(await engine.state.get(STATE_KEYS.receivers));
      const atMs = clock.now();
      sinceMs ??= atMs;
      const heard = listening(kept.success ? kept.data : null, { receivers, atMs, sinceMs });
      const silentMs = heard?.silentMs ?? (isUnread ? 0 : null);
      if (heard !== null && silentMs !== null) {
        // The mirror was filled, or kept by one machine, before there were receivers.
        const isUnknown = heard.isFirst && (await store.reader.ask('lastFullSync')) === null;
        log.info({ silentMs }, 'receivers were down or restarted: what may have been missed is read');
        await untilCommitted(() => reconciler.repairSilence(isUnknown ? null : silentMs), signal);
        isUnread = false;
      }
      // Only once the request is in the event log: a lead that dies in between leaves it to the next one.
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

/** Lifts what holds reads back when an operator has asked any replica for a resync. */
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
  let next = { dueMs: performance.now() + SNAPSHOT_EVERY_MS, lastSeq: -1 };
  let failures = 0;
  while (!signal.aborted) {
    await rest(SNAPSHOT_LOOK_MS, signal);
    if (signal.aborted) return;
    try {
      const { standing: reached } = replicator;
      const { epoch, lastSeq: reachedSeq } = reached;
      // A new history needs one at once; the lead before may have ended before it had uploaded one.
      const isFirst = (await engine.state.get(STATE_KEYS.snapshotEpoch)) !== epoch;
      if (!isFirst && (performance.now() < next.dueMs || reachedSeq === next.lastSeq)) continue;
      const files = await makeSnapshot(signal);
      if (files === null) return;
      try {
        await engine.putSnapshot(files, reached, signal);
      } finally {
        files.remove();
      }
      await engine.state.put(STATE_KEYS.snapshotEpoch, epoch);
      next = { dueMs: performance.now() + SNAPSHOT_EVERY_MS, lastSeq: reachedSeq };
      failures = 0;
      log.info({ lastSeq: reachedSeq }, 'a snapshot was uploaded: new replicas begin from it');
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'a snapshot could not be uploaded; it is tried again');
      // Each attempt copies both files, and may fill the disk that they are on.
      await rest(Math.min(SNAPSHOT_RETRY_MS * 2 ** failures, SNAPSHOT_EVERY_MS), signal);
      failures += 1;
    }
  }
}
