/** The scheduled work of retention.ts, done at once by a process that has the database to itself. */
import type { StoreNews } from './writer/upkeep.ts';
import { openStore } from './open-store.ts';
import { bothPruned, NOTHING_PRUNED, rowsOf, type Pruned } from './writer/pruned.ts';

interface PruneOptions {
  /** Older rows are deleted. */
  readonly beforeMs: number;
  readonly onNews: (news: StoreNews) => void;
  readonly interrupted: AbortSignal;
}

/** No delivery waits here: the transactions are longer than beside deliveries. */
const AT_ONCE = 5_000;

/**
 * @returns what was removed, also when interrupted.
 * @throws StoreError `in_use` when a running mirror has the database.
 */
export async function pruneDatabase(path: string, options: PruneOptions): Promise<Pruned> {
  const died = Promise.withResolvers<never>();
  died.promise.catch(() => undefined);
  const { interrupted } = options;
  const stopped = new Promise<null>((resolve) => {
    interrupted.addEventListener('abort', () => resolve(null), { once: true });
  });
  const store = await openStore(path, {
    onDeath: died.reject,
    onNews: options.onNews,
  });
  try {
    // Either waits while another program holds the mirror's lock.
    await Promise.race([store.opened, died.promise, stopped]);
    // The clock may have been set back since: the next start goes on from the last entry.
    const nowMs = Math.max(Date.now(), store.life.aliveAtMs ?? 0, store.life.lastAtMs ?? 0);
    let pruned = NOTHING_PRUNED;
    while (!interrupted.aborted) {
      const args = { nowMs, beforeMs: options.beforeMs, limit: AT_ONCE };
      const pruning = store.writer.prune(args);
      const deleted = await Promise.race([pruning, died.promise, stopped]);
      if (deleted === null) {
        pruning.catch(() => undefined);
        break;
      }
      pruned = bothPruned(pruned, deleted);
      if (rowsOf(deleted) === 0) break;
    }
    return pruned;
  } finally {
    await store.close();
  }
}
