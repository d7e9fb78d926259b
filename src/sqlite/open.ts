import Database from 'better-sqlite3';
import { explain } from './explain.ts';

export type Db = Database.Database;

/** A statement's wait for another program's lock: less than an answer's deadline (docs/http-api.md#public-listener). */
export const BUSY_TIMEOUT_MS = 500;

export function openReader(path: string): Db {
  return explain(path, () => {
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    db.pragma('query_only = ON');
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
