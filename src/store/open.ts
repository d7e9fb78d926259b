/** A connection for reading. */
import Database from 'better-sqlite3';
import type { Db } from './db.ts';
import { eventLogPath } from './event-log/open-log.ts';
import { explain } from './explain.ts';

export type { Db };

/**
 * How long one statement waits for another program's lock. Below the deadline of an answer
 * (docs/http-api.md#public-listener).
 */
export const BUSY_TIMEOUT_MS = 500;

/** A connection that cannot write: the file is opened read-only, and only queries are allowed. */
export function openReader(path: string): Db {
  return explain(path, () => {
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    db.pragma('query_only = ON');
    db.pragma('temp_store = MEMORY');
    return db;
  });
}

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
