/** A connection for reading. */
import Database from 'better-sqlite3';
import { explain } from './explain.ts';

/** A connection to a file of SQLite. */
export type Db = Database.Database;

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
