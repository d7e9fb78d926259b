/** The scheduled work of retention.ts, done at once by a process that has the database to itself. */
import type { HistoryNews } from './epoch.ts';
import { openStore } from './open-store.ts';
import { bothPruned, NOTHING_PRUNED, rowsOf, type Pruned } from './pruned.ts';

export interface PruneOptions {
  /** Older rows are deleted. */
  readonly beforeMs: number;
  readonly onHistoryNews: (news: HistoryNews) => void;
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
  const store = await openStore(path, {
    onDeath: died.reject,
    onCheckpointNews: () => undefined,
    onHistoryNews: options.onHistoryNews,
  });
  try {
    await store.opened;
    let pruned = NOTHING_PRUNED;
    while (!options.interrupted.aborted) {
      const args = { beforeMs: options.beforeMs, limit: AT_ONCE };
      const deleted = await Promise.race([store.writer.prune(args), died.promise]);
      pruned = bothPruned(pruned, deleted);
      if (rowsOf(deleted) === 0) break;
    }
    return pruned;
  } finally {
    await store.close();
  }
}
