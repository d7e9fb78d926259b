import Database from 'better-sqlite3';
import { explain } from './explain.ts';

export type Db = Database.Database;

/** A statement's wait for another program's lock: less than an answer's deadline (docs/http-api.md#public-listener). */
export const BUSY_TIMEOUT_MS = 500;

/** The system caches the file as well. SQLite's own default is 16 MB for each file of each connection. */
export const READER_CACHE_KIB = 2_048;

export function openReader(path: string): Db {
  return explain(path, () => {
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    db.pragma('query_only = ON');
    db.pragma(`cache_size = -${READER_CACHE_KIB}`);
    db.pragma('temp_store = MEMORY');
    return db;
  });
}

export function doneOrClosed(db: Db, act: (db: Db) => void): Db {
  try {
    act(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
