/**
 * The work of the replica that leads: it sees that there is a history, reads from the store, prunes, and puts snapshots
 * (docs/beyond-one-machine.md#the-lead).
 */
import { rest } from '../platform/sleep.ts';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { createRetention } from '../mirror/retention.ts';
import type { Store } from '../mirror/store.ts';
import type { Monitor } from '../ops/monitor.ts';
import type { Logger } from '../platform/log.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { knownReceiversSchema, listening } from '../replication/listening.ts';
import { membersIn } from '../replication/presence.ts';
import { TransportError, type Engine, type SnapshotFiles, type Standing } from '../replication/transport.ts';
import type { Clock } from './clock.ts';
import type { Platform } from './compose.ts';
import { createReading } from './reading.ts';
import { sharedLockout } from './shared-lockout.ts';
import { untilCommitted } from './until-committed.ts';

interface LeadingDeps {
  readonly config: Pick<Config, 'service' | 'database' | 'schedules' | 'retentionDays'>;
  readonly engine: Engine;
  readonly store: Store;
  readonly standing: () => Standing;
  /** Whether this replica had everything a moment ago. */
  readonly isLevel: () => boolean;
  /** The engine has no history any more that this replica could follow. */
  readonly isLost: () => boolean;
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
const LEVEL_WITHIN_MS = 10_000;
const SNAPSHOT_EVERY_MS = 10 * 60_000;
const SNAPSHOT_LOOK_MS = 5_000;
const RECEIVERS = 'receivers';
/** The epoch of the newest one. */
const SNAPSHOT = 'snapshot';
/** A person's word that holds back nothing any longer, told to whoever leads. */
export const OPERATOR_WORD = 'operator_word';

/** Until aborted. @throws TransportError, StoreError: another replica, or this one again, takes over. */
export async function leadWith(deps: LeadingDeps, signal: AbortSignal): Promise<void> {
  const { engine, store, standing, clock, log, config, monitor, platform } = deps;
  await store.writer.command('settle', undefined);
  const { last_seq: changeSeq } = await store.reader.ask('status');
  const isNew = await engine.keepHistory({ ...standing(), changeSeq, nowMs: clock.now() });
  if (isNew) {
    log.warn(
      'a new epoch has begun: consumers of the change feed start over, and every product is read again; until then its rows are suspect',
    );
  }
  // What is read now must be seen beside all that the others know.
  const levelByMs = performance.now() + LEVEL_WITHIN_MS;
  while (!deps.isLevel()) {
    if (performance.now() > levelByMs) throw new TransportError('the history cannot be followed to its end');
    await pause(LEVEL_EVERY_MS, signal);
    if (signal.aborted) return;
  }
  const reading = createReading({
    config,
    store,
    clock,
    log,
    platform,
    monitor,
    shareFile: (file) => sharedLockout(file, { state: engine.state, service: config.service }),
  });
  const { reconciler } = reading;
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  let failure: Error | null = null;
  const watching = Promise.all([
    watchHistory(deps, until),
    watchReceivers(deps, reconciler, until),
    watchOperator(deps, reconciler, until),
    putSnapshots(deps, until),
  ]).catch((error: unknown) => {
    failure = error instanceof Error ? error : new Error(String(error));
    failed.abort();
  });
  reconciler.start();
  const { writer } = store;
  const retention = createRetention({ writer, now: clock.now, log, retentionDays: config.retentionDays });
  retention.start();
  deps.onReading(reconciler);
  await pause(null, until);
  deps.onReading(null);
  retention.stop();
  await reading.stop();
  await watching;
  // Assigned in the meantime, which the compiler does not see.
  const cause = failure as Error | null;
  if (cause !== null) throw cause;
}

/** The lease outlives the history: whoever has most of it is asked for again. @throws TransportError */
async function watchHistory({ isLost }: LeadingDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (isLost()) throw new TransportError('the engine has lost the history');
    await pause(LOOK_EVERY_MS, signal);
  }
}

/** What was missed while nobody listened, or was in hand when one of them ended, is made up for by reading. */
async function watchReceivers(
  { engine, clock, store, log }: LeadingDeps,
  reconciler: Reconciler,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { receivers } = await membersIn(engine.presence);
      const kept = knownReceiversSchema.safeParse(await engine.state.get(RECEIVERS));
      const heard = listening(kept.success ? kept.data : null, receivers, clock.now());
      const silentMs = heard?.silentMs ?? null;
      if (heard !== null && silentMs !== null) {
        // A mirror that was filled, or kept by one machine, before anybody listened here.
        const isUnknown = heard.isFirst && (await store.reader.ask('lastFullSync')) === null;
        log.info({ silentMs }, 'receivers have changed: what they may have missed is read');
        await untilCommitted(() => reconciler.repairSilence(isUnknown ? null : silentMs), signal);
      }
      // After it is in the event log: another lead would not know otherwise.
      if (heard !== null) await engine.state.put(RECEIVERS, heard.known);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TransportError)) throw error;
    }
    await pause(LOOK_EVERY_MS, signal);
  }
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
      const word = wordSchema.parse(await engine.state.get(OPERATOR_WORD));
      if (heard !== undefined && word !== heard) {
        await store.writer.command('retryFailures', undefined);
        await reconciler.lift();
      }
      heard = word;
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
    }
    await pause(LOOK_EVERY_MS, signal);
  }
}

async function putSnapshots(
  { engine, makeSnapshot, standing, log }: LeadingDeps,
  signal: AbortSignal,
): Promise<void> {
  let dueMs: number | null = null;
  let lastSeq = -1;
  while (!signal.aborted) {
    await pause(SNAPSHOT_LOOK_MS, signal);
    if (signal.aborted) return;
    try {
      // Whoever led before may have ended before it put one of this history, for which others wait.
      dueMs ??=
        (await engine.state.get(SNAPSHOT)) === standing().epoch ? performance.now() + SNAPSHOT_EVERY_MS : 0;
      if (performance.now() < dueMs || standing().lastSeq === lastSeq) continue;
      const reached = standing();
      const files = await makeSnapshot(signal);
      if (files === null) return;
      try {
        await engine.putSnapshot(files, reached);
      } finally {
        files.remove();
      }
      lastSeq = reached.lastSeq;
      await engine.state.put(SNAPSHOT, reached.epoch);
      dueMs = performance.now() + SNAPSHOT_EVERY_MS;
      log.info({ lastSeq }, 'a snapshot was put, from which new replicas begin');
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'a snapshot could not be put; it is tried again');
    }
  }
}

/** @param ms null: until aborted. */
async function pause(ms: number | null, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  if (ms !== null) await rest(ms, signal);
  else
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
