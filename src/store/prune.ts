/** The scheduled work of retention.ts, done at once by a process that has the database to itself. */
import { setImmediate } from 'node:timers/promises';
import type { Commands } from './commands.ts';
import type { HistoryNews } from './epoch.ts';
import { openOwnDatabase } from './own-database.ts';
import { bothPruned, NOTHING_PRUNED, rowsOf, type Pruned } from './pruned.ts';
import { Writer } from './writer.ts';

export interface PruneOptions {
  /** Older rows are deleted. */
  readonly beforeMs: number;
  readonly onHistoryNews: (news: HistoryNews) => void;
  readonly interrupted: AbortSignal;
}

/** No delivery waits here: the transactions are longer than beside deliveries. */
const AT_ONCE = 5_000;
/** In pages of the write-ahead log: it stays short however much is removed. */
const CHECKPOINT_PAGES = 4_000;

/**
 * @returns what was removed, also when interrupted.
 * @throws StoreError `in_use` when a running mirror has the database.
 */
export async function pruneDatabase(path: string, options: PruneOptions): Promise<Pruned> {
  const { db, news, beforeClose, release } = openOwnDatabase(path);
  try {
    news.forEach(options.onHistoryNews);
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    const writer = new Writer(db);
    const args = { beforeMs: options.beforeMs, limit: AT_ONCE };
    let pruned = NOTHING_PRUNED;
    while (!options.interrupted.aborted) {
      const [result] = writer.commit([{ kind: 'command', name: 'prune', args }]);
      if (result === undefined) throw new Error('the prune had no result');
      if (!result.ok) throw result.error;
      const deleted = result.value as ReturnType<Commands['prune']>;
      pruned = bothPruned(pruned, deleted);
      if (rowsOf(deleted) === 0) break;
      // Lets Ctrl-C be handled.
      await setImmediate();
    }
    beforeClose().forEach(options.onHistoryNews);
    return pruned;
  } finally {
    db.close();
    release();
  }
}
