/**
 * One writer per database. The lock is a SQLite lock on a file of its own beside the database: the kernel releases it
 * when the process ends, however it ends, so a stale lock never needs a person.
 */
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { isBusy, StoreError } from './errors.ts';
import { explain } from './explain.ts';
import { isThere } from './is-there.ts';
import { makeFolder } from './make-folder.ts';

export interface DatabaseLock {
  release(): void;
}

/** @throws StoreError `in_use` while another process holds it, or another thread of this one. */
export function lockDatabase(path: string): DatabaseLock {
  const lockPath = `${path}.lock`;
  return explain(lockPath, () => {
    makeFolder(dirname(path));
    const db = new Database(lockPath, { timeout: 0 });
    try {
      // SQLite opens a read-only file without an error, and locks nothing then.
      accessSync(lockPath, constants.W_OK);
      db.pragma('journal_mode = MEMORY');
      db.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      db.close();
      if (!isBusy(error)) throw error;
      throw new StoreError(
        'in_use',
        `another stock-mirror already serves ${path}: stop it first, or set DATABASE_PATH to another file.`,
        { cause: error },
      );
    }
    return { release: () => db.close() };
  });
}

/**
 * Whether a process holds the lock at this moment, without taking it or creating its file.
 *
 * @throws StoreError `unreachable` when this user may not look.
 */
export function isDatabaseLocked(path: string): boolean {
  const lockPath = `${path}.lock`;
  if (!isThere(lockPath)) return false;
  return explain(lockPath, () => {
    const db = new Database(lockPath, { readonly: true, timeout: 0 });
    try {
      db.prepare('SELECT 1 FROM sqlite_master').get();
      return false;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return true;
    } finally {
      db.close();
    }
  });
}
