/**
 * Deletes old rows of the mirror every hour, in small transactions, and releases those of the inbox to the
 * receiver.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { futureMs, isClockRight, keptSinceMs } from '../inbox/retention.ts';
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

const EVERY_MS = 60 * 60_000;
const FIRST_AFTER_MS = 60_000;
const AT_ONCE = 500;
const PAUSE_MS = 100;

/** Runs until the signal. */
export async function prunePeriodically(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  const { log, retentionDays, clockAheadMs } = deps;
  const pause = (ms: number): Promise<unknown> =>
    wait(ms, undefined, { signal, ref: false }).catch(() => undefined);
  await pause(FIRST_AFTER_MS);
  while (!signal.aborted) {
    const isRight = isClockRight(clockAheadMs());
    if (isRight) {
      try {
        const rows = await pruneAll(deps, signal);
        if (rows > 0) log.info({ rows, retentionDays }, 'pruned rows older than the retention time');
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'pruning failed; the next attempt is in an hour');
      }
    }
    await pause(isRight ? EVERY_MS : FIRST_AFTER_MS);
  }
}

async function pruneAll({ mirror, now, retentionDays }: RetentionDeps, signal: AbortSignal): Promise<number> {
  const beforeMs = keptSinceMs(now(), retentionDays);
  const afterMs = futureMs(now());
  let total = 0;
  for (;;) {
    const rows = await mirror.command('prune', { beforeMs, afterMs, limit: AT_ONCE });
    const some = rows.changes + rows.deadLetters + rows.runs + rows.deliveries + rows.inboxRows;
    if (some === 0) return total;
    total += some;
    await wait(PAUSE_MS, undefined, { signal, ref: false });
  }
}
