/** Deletes old rows, a little at a time, so that no delivery waits for it: every hour, and on request. */
import type { Logger } from '../platform/log.ts';
import { rest } from '../platform/sleep.ts';
import { bothPruned, NOTHING_PRUNED, rowsOf, type Pruned } from './writer/pruned.ts';
import type { StoreWriter } from './writer/store-writer.ts';

interface RetentionDeps {
  readonly writer: Pick<StoreWriter, 'prune'>;
  readonly now: () => number;
  readonly log: Logger;
  readonly retentionDays: number;
}

/** The result of one request to prune. */
export interface PrunedPortion extends Pruned {
  /** Rows older than this many days are deleted. */
  readonly days: number;
  /** False: there is more of it, and the caller asks again to have it deleted. */
  readonly complete: boolean;
}

export interface Pruner {
  /** Works for about a second. @param days null: RETENTION_DAYS. @throws StoreError */
  prune(days: number | null): Promise<PrunedPortion>;
}

interface Retention extends Pruner {
  /** Prunes now and every hour. */
  start(): void;
  /** A portion under way ends with its next transaction. */
  stop(): void;
}

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 60 * 60_000;
/** Rows of each kind in one transaction, and the pause before the next: short compared with the time of an answer. */
const AT_ONCE = 500;
const PAUSE_MS = 100;
const PORTION_MS = 1_000;

export function createRetention({ writer, now, log, retentionDays }: RetentionDeps): Retention {
  let timer: NodeJS.Timeout | undefined;
  const stopping = new AbortController();
  const deleteSome = (days: number): Promise<Pruned> =>
    writer.prune({ nowMs: now(), beforeMs: now() - days * DAY_MS, limit: AT_ONCE });

  let onSchedule = NOTHING_PRUNED;
  const again = (ms: number): void => {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => void pruneOnSchedule(), ms);
    timer.unref();
  };
  const pruneOnSchedule = async (): Promise<void> => {
    try {
      const deleted = await deleteSome(retentionDays);
      onSchedule = bothPruned(onSchedule, deleted);
      if (rowsOf(deleted) > 0) {
        again(PAUSE_MS);
        return;
      }
      if (rowsOf(onSchedule) > 0) {
        log.info({ ...onSchedule, retentionDays }, 'pruned what is older than the retention time');
      }
      onSchedule = NOTHING_PRUNED;
    } catch (error) {
      log.warn({ err: error }, 'pruning failed; it is tried again in an hour');
    }
    again(EVERY_MS);
  };

  /** Of the portions since the last complete one. */
  let onRequest = NOTHING_PRUNED;
  return {
    start: () => again(PAUSE_MS),
    stop(): void {
      stopping.abort();
      clearTimeout(timer);
    },
    async prune(days): Promise<PrunedPortion> {
      const meant = days ?? retentionDays;
      const untilMs = performance.now() + PORTION_MS;
      let portion = NOTHING_PRUNED;
      for (;;) {
        const deleted = await deleteSome(meant);
        portion = bothPruned(portion, deleted);
        onRequest = bothPruned(onRequest, deleted);
        const complete = rowsOf(deleted) === 0;
        if (complete && rowsOf(onRequest) > 0) {
          log.info({ ...onRequest, days: meant }, 'pruned at an operator’s request');
          onRequest = NOTHING_PRUNED;
        }
        if (complete || stopping.signal.aborted || performance.now() >= untilMs)
          return { days: meant, ...portion, complete };
        await rest(PAUSE_MS, stopping.signal);
      }
    },
  };
}
