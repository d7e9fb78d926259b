/** What retention does on schedule (retention.ts), done at once by a process that holds the database alone. */
import { setImmediate } from 'node:timers/promises';
import type { HistoryNews } from './epoch.ts';
import type { Db } from './open.ts';
import { openOwnDatabase } from './own-database.ts';
import { Writer } from './writer.ts';

/** Rows of each kind. */
export interface Pruned {
  readonly log: number;
  readonly changes: number;
  readonly quarantine: number;
  readonly runs: number;
}

export interface PruneOptions {
  /** What is older goes. */
  readonly beforeMs: number;
  readonly onHistoryNews: (news: HistoryNews) => void;
  readonly interrupted: AbortSignal;
}

/** Nobody waits for an answer here: longer transactions than beside deliveries. */
const AT_ONCE = 5_000;
/** As many pages of the write-ahead log: it stays short however much is removed. */
const CHECKPOINT_PAGES = 4_000;

/** @returns what was removed, also when interrupted. @throws StoreError `in_use` when a server has the database. */
export async function pruneDatabase(path: string, options: PruneOptions): Promise<Pruned> {
  const { db, news, beforeClose, release } = openOwnDatabase(path);
  try {
    news.forEach(options.onHistoryNews);
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    const writer = new Writer(db);
    const before = countRows(db);
    const args = { beforeMs: options.beforeMs, limit: AT_ONCE };
    while (!options.interrupted.aborted) {
      const [result] = writer.commit([{ kind: 'command', name: 'prune', args }]);
      if (result === undefined) throw new Error('the prune had no result');
      if (!result.ok) throw result.error;
      if (result.value === 0) break;
      // Lets Ctrl-C be heard.
      await setImmediate();
    }
    const after = countRows(db);
    beforeClose().forEach(options.onHistoryNews);
    return {
      log: before.log - after.log,
      changes: before.changes - after.changes,
      quarantine: before.quarantine - after.quarantine,
      runs: before.runs - after.runs,
    };
  } finally {
    db.close();
    release();
  }
}

function countRows(db: Db): Pruned {
  const row = db
    .prepare<[], Pruned>(
      `SELECT (SELECT count(*) FROM log) AS log, (SELECT count(*) FROM changes) AS changes,
         (SELECT count(*) FROM quarantine) AS quarantine, (SELECT count(*) FROM runs) AS runs`,
    )
    .get();
  if (row === undefined) throw new Error('the rows could not be counted');
  return row;
}
