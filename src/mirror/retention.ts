/** Deletes old rows, a little at a time each hour, so that no delivery waits for it. */
import type { Logger } from '../platform/log.ts';
import { bothPruned, NOTHING_PRUNED, rowsOf, type Pruned } from './writer/pruned.ts';
import type { StoreWriter } from './writer/store-writer.ts';

interface RetentionDeps {
  readonly writer: Pick<StoreWriter, 'prune'>;
  readonly now: () => number;
  readonly log: Logger;
  readonly retentionDays: number;
}

interface Retention {
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

export function createRetention({ writer, now, log, retentionDays }: RetentionDeps): Retention {
  let timer: NodeJS.Timeout | undefined;
  const stopping = new AbortController();
  const deleteSome = (): Promise<Pruned> =>
    writer.prune({ nowMs: now(), beforeMs: now() - retentionDays * DAY_MS, limit: AT_ONCE });

  let onSchedule = NOTHING_PRUNED;
  const again = (ms: number): void => {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => void pruneOnSchedule(), ms);
    timer.unref();
  };
  const pruneOnSchedule = async (): Promise<void> => {
    try {
      const deleted = await deleteSome();
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

  return {
    start: () => again(PAUSE_MS),
    stop(): void {
      stopping.abort();
      clearTimeout(timer);
    },
  };
}
