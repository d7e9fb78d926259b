/** Makes a copy a mirror of its own (docs/follower.md#promoting-a-copy). */
import { isThere } from '../sqlite/is-there.ts';
import { StoreError } from '../sqlite/errors.ts';
import { explain } from '../sqlite/explain.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import { endCopying, type HistoryNews } from './epoch.ts';
import { EventLog } from './event-log.ts';
import { eventLogPath, openLogForAppending } from './open-log.ts';

interface Promoted {
  /** What it was a copy of. */
  readonly origin: string;
  /** The last entry that it had from there. */
  readonly lastSeq: number;
  readonly news: readonly HistoryNews[];
}

/** @throws StoreError `in_use` while it is served, `not_a_copy` */
export function promoteCopy(databasePath: string, nowMs: number): Promoted {
  const path = eventLogPath(databasePath);
  if (!isThere(path)) throw notACopy(`there is no event log at ${path}`);
  const lock = lockDatabase(databasePath);
  try {
    const db = openLogForAppending(path);
    try {
      const log = explain(path, () => new EventLog(db));
      const { copiedFrom } = log.history();
      if (copiedFrom === null) throw notACopy(`${databasePath} is no copy`);
      const { lastSeq } = log;
      const news = explain(path, () => endCopying(log, { path, databasePath, nowMs }));
      return { origin: copiedFrom.origin, lastSeq, news };
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}

function notACopy(problem: string): StoreError {
  return new StoreError(
    'not_a_copy',
    `${problem}: nothing was changed. A copy is what \`stock-mirror follow\` keeps; set DATABASE_PATH to it.`,
  );
}
