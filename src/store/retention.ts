/** Deletes what is older than RETENTION_DAYS, a little at a time, so that no delivery waits for it. */
import type { Logger } from '../log.ts';
import type { StoreWriter } from './store.ts';

export interface RetentionDeps {
  readonly writer: StoreWriter;
  readonly now: () => number;
  readonly log: Logger;
  readonly retentionDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 60 * 60_000;
/** Rows of each kind in one transaction, and the pause before the next: short beside the time of an answer. */
const AT_ONCE = 500;
const PAUSE_MS = 100;

/** Prunes now and every hour. @returns the way to stop. */
export function startRetention({ writer, now, log, retentionDays }: RetentionDeps): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let pruned = 0;
  const again = (ms: number): void => {
    timer = setTimeout(() => void prune(), ms);
    timer.unref();
  };
  const prune = async (): Promise<void> => {
    try {
      const beforeMs = now() - retentionDays * DAY_MS;
      const deleted = await writer.command('prune', { beforeMs, limit: AT_ONCE });
      pruned += deleted;
      if (deleted > 0) {
        again(PAUSE_MS);
        return;
      }
      if (pruned > 0)
        log.info({ rows: pruned, retentionDays }, 'pruned what is older than the retention time');
      pruned = 0;
    } catch (error) {
      log.warn({ err: error }, 'pruning failed; it is tried again in an hour');
    }
    again(EVERY_MS);
  };
  again(PAUSE_MS);
  return { stop: () => clearTimeout(timer) };
}
