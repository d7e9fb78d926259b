/** A connection for reading both files: the mirror, and the event log beside it. */
import type { Db } from '../sqlite/open.ts';
import { eventLogPath } from './open-log.ts';
import { explain } from '../sqlite/explain.ts';
import { openReader } from '../sqlite/open.ts';

/** The same, with the event log beside the tables: queries find it as `log`. */
export function openReaderOfBoth(path: string): Db {
  return explain(path, () => {
    const db = openReader(path);
    try {
      attachEventLog(db, path);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Read-only, as the connection is. @throws StoreError */
export function attachEventLog(db: Db, databasePath: string): void {
  const path = eventLogPath(databasePath);
  explain(path, () => db.prepare('ATTACH ? AS event_log').run(path));
}
