/** The quiet after the story: at rest, and after reading every product, the mirror equals the store. */
import type { Db } from '../../src/sqlite/open.ts';
import type { Cast } from './cast.ts';
import { differences } from './comparison.ts';
import { aliveAtMs, heldRemovals, isParked, isResyncing, shownState } from './observer.ts';
import { isSettled, openWork, searchedVariants } from './watch/open-work.ts';

/** After the last trouble the mirror may take this long to be at rest. */
export const REST_WITHIN_MS = 30 * 60_000;
/** How long the service blocks a client that failed to authenticate too often. */
const LONGEST_BLOCK_MS = 15 * 60_000;
/** A little more than the longest pause between two reads for a conflict. */
const REST_UNAIDED_WITHIN_MS = 20 * 60_000;
/**
 * A variant that the store does not have is given up only after two reads of every product, which the schedule has a
 * bound for. Its search is not awaited for longer than this.
 */
const VAIN_SEARCHES_WITHIN_MS = 5 * 60_000;
const LAST_WEBHOOK_WITHIN_MS = 3 * 3_600_000;
const LONGEST_SLEEP_MS = 3 * 3_600_000;
const START_WITHIN_MS = 120_000;
const STREAM_WITHIN_MS = 600_000;
const STAYS_MS = 45_000;
const MOST_SWEEPS = 4;
const EVERY_MS = 1_000;

export async function comeToRest(cast: Cast): Promise<void> {
  const { report, waiting } = cast;
  report.trace('quiet from here on');
  cast.performer.calm();
  cast.fleet?.calm();
  for (const machine of cast.machines) machine.cancelKill();
  await settleWebhooks(cast);
  await waiting.until('the machine to wake', LONGEST_SLEEP_MS, () => !cast.isAsleep(), EVERY_MS);
  if (!(await waiting.until('a running process', START_WITHIN_MS, () => runs(cast)))) return;
  const shownAliveAtMs = (): number | null => whenOpen(cast, aliveAtMs);
  const beforeMs = shownAliveAtMs();
  if (!(await waiting.until('a heartbeat', START_WITHIN_MS, () => shownAliveAtMs() !== beforeMs))) return;
  await restUnaided(cast);
  await waiting.pass(5_000);
  cast.calls.released();
  if ((whenOpen(cast, heldRemovals) ?? 0) > 0) report.count('the guard held');
  cast.guard.allow();
  await sweep(cast);
  for (let sweeps = 1; sweeps < MOST_SWEEPS && needsSweep(cast); sweeps += 1) {
    await waiting.pass(STAYS_MS);
    await sweep(cast);
  }
  const isAtRest = await waiting.happens(REST_WITHIN_MS, () => unrest(cast) === null, EVERY_MS);
  if (!isAtRest) report.fault(`never at rest: ${unrest(cast)}`);
  await waiting.pass(STAYS_MS);
  const after = unrest(cast);
  if (after !== null && !report.hasFault) report.fault(`at rest, and then not: ${after}`);
}

/**
 * Reads everything, and decides about what is held. A variant that the store does not have is given up after two
 * sweeps, and further ones if it was named.
 */
async function sweep(cast: Cast): Promise<void> {
  const { report, waiting, service } = cast;
  if (await resync(cast)) {
    report.count('a resync joined an earlier one');
    const isOver = (): boolean => whenOpen(cast, isResyncing) === false;
    await waiting.until('the earlier run to end', REST_WITHIN_MS, isOver, EVERY_MS);
    await resync(cast);
  }
  const isInStore = (variantId: string): boolean => service.truth.variant(variantId) !== undefined;
  // A read of this sweep may have led to a further removal that the guard holds.
  const isOver = (): boolean =>
    whenOpen(
      cast,
      (db) => openWork(db, isInStore) === null || (heldRemovals(db) > 0 && isSettled(db, isInStore)),
    ) === true;
  await waiting.happens(REST_WITHIN_MS, isOver, EVERY_MS);
}

function needsSweep(cast: Cast): boolean {
  return whenOpen(cast, (db) => searchedVariants(db).length + heldRemovals(db) > 0) === true;
}

async function settleWebhooks(cast: Cast): Promise<void> {
  const { service, mail, waiting } = cast;
  const isQuiet = (): boolean => cast.inFlight() === 0 && mail.waiting === 0 && cast.proxy.waiting === 0;
  let isFlushed = false;
  void service.network.flush().then(() => (isFlushed = true));
  const isSettledNow = (): boolean => isFlushed && isQuiet();
  await waiting.until('the last webhook', LAST_WEBHOOK_WITHIN_MS, isSettledNow, EVERY_MS);
  if (cast.fleet === null) return;
  const isDrained = (): boolean => runs(cast) && cast.isDrained();
  await waiting.until('the stream', STREAM_WITHIN_MS, isDrained, EVERY_MS);
}

/** Starts what does not run, as systemd does. */
function runs(cast: Cast): boolean {
  // Nothing starts on a machine that is off, and its boot would move the clock of a process that runs.
  if (cast.isAsleep()) return false;
  for (const machine of cast.machines) if (machine.life === null) void machine.start();
  return [...cast.machines].every((machine) => machine.isRunning);
}

async function restUnaided(cast: Cast): Promise<void> {
  const { plan, time, service, report, calls, seen, delivered } = cast;
  const longMs = time.nowMs + VAIN_SEARCHES_WITHIN_MS;
  const isInStore = (variantId: string): boolean => service.truth.variant(variantId) !== undefined;
  const isAwaited = (variantId: string): boolean => time.nowMs <= longMs || isInStore(variantId);
  const hasSettled = (awaited: (variantId: string) => boolean): boolean =>
    whenOpen(cast, (db) => isSettled(db, awaited)) === true;
  const isOver = (): boolean => hasSettled(isAwaited) || waitsForAPerson(cast);
  const withinMs = REST_UNAIDED_WITHIN_MS + (calls.wasSlowedDown ? LONGEST_BLOCK_MS : 0);
  await cast.waiting.until('rest without an operator', withinMs, isOver, EVERY_MS);
  if (!hasSettled(isInStore)) return;
  report.count('at rest unaided');
  const look = (db: Db): void => {
    seen.check(db, service, 'all');
    delivered.checkRest(db, service, {
      isOrdered: plan.nodeSkewMs === 0,
      areLevelsRead: !plan.leavesOutWarehouses,
      areTotalsTrue: !['no_warehouses', 'hidden_warehouse'].some((fault) => report.has(`reads: ${fault}`)),
    });
    cast.checkMoved(db);
  };
  // Nothing may have read a damaged page of the history yet.
  cast.observer.reading(look, () => {
    if (!report.isFlipped) report.fault('the file is damaged at rest, and no page was flipped');
  });
}

function waitsForAPerson(cast: Cast): boolean {
  return cast.machine.isLockedOut || whenOpen(cast, isParked) === true;
}

/** @returns whether it joined a run under way. */
async function resync({ machine, waiting }: Cast): Promise<boolean> {
  let joined = false;
  await waiting.carriedOut(
    machine
      .ask('/api/resync', { allow_removals: { by: 'Ana', reason: 'the story has ended' } })
      .then((answer) => {
        joined = (answer?.json as { joined?: boolean } | undefined)?.joined === true;
      }),
  );
  return joined;
}

function unrest(cast: Cast): string | null {
  const db = cast.observer.open();
  if (db === null) return 'there is no database';
  const open = openWork(db);
  if (open !== null) return open;
  const shown = shownState(db);
  // A story in which no webhook was accepted is at rest without proof of the way in.
  if (shown?.state === 'catching_up' && shown.cause !== 'unproven')
    return `the state is ${shown.state} (${shown.cause})`;
  return differences(cast, cast.machine.disk.databasePath);
}

/** @returns null without a file that can be read. */
function whenOpen<T>({ observer }: Cast, ask: (db: Db) => T): T | null {
  const db = observer.open();
  return db === null ? null : ask(db);
}
