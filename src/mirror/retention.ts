/**
 * Deletes old rows of the mirror every hour, in small transactions, and releases those of the inbox to the
 * receiver.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../platform/log.ts';
import type { Mirror } from './mirror.ts';

interface RetentionDeps {
  readonly mirror: Pick<Mirror, 'command'>;
  /** The own clock, epoch ms. */
  readonly now: () => number;
  /** How far the wall clock is ahead of the store's; null while no answer has shown it. */
  readonly clockAheadMs: () => number | null;
  readonly log: Logger;
  readonly retentionDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 60 * 60_000;
const FIRST_AFTER_MS = 60_000;
const AT_ONCE = 500;
const PAUSE_MS = 100;
/** A machine that booted with a wrong date must not delete its history. */
const CLOCK_OFF_MS = 60 * 60_000;

/** Runs until the signal. */
export async function prunePeriodically(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  const { log, retentionDays, clockAheadMs } = deps;
  const pause = (ms: number): Promise<unknown> =>
    wait(ms, undefined, { signal, ref: false }).catch(() => undefined);
  await pause(FIRST_AFTER_MS);
  while (!signal.aborted) {
    const aheadMs = clockAheadMs();
    // Without an answer of the store, nothing shows that the clock is right.
    const isClockRight = aheadMs !== null && Math.abs(aheadMs) < CLOCK_OFF_MS;
    if (isClockRight) {
      try {
        const rows = await pruneAll(deps, signal);
        if (rows > 0) log.info({ rows, retentionDays }, 'pruned rows older than the retention time');
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'pruning failed; the next attempt is in an hour');
      }
    }
    await pause(isClockRight ? EVERY_MS : FIRST_AFTER_MS);
  }
}

async function pruneAll({ mirror, now, retentionDays }: RetentionDeps, signal: AbortSignal): Promise<number> {
  const beforeMs = now() - retentionDays * DAY_MS;
  let total = 0;
  for (;;) {
    const rows = await mirror.command('prune', { beforeMs, limit: AT_ONCE });
    const some = rows.changes + rows.deadLetters + rows.runs + rows.inboxRows;
    if (some === 0) return total;
    total += some;
    await wait(PAUSE_MS, undefined, { signal, ref: false });
  }
}
