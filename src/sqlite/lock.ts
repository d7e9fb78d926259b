/** One writer per database, by a SQLite lock on a separate file. The kernel releases it when the process ends. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { ownFile } from './database-files.ts';
import { isBusy, SqliteFault } from './errors.ts';
import { explain } from './explain.ts';
import { isThere } from './is-there.ts';
import { makeFolder } from './make-folder.ts';

interface DatabaseLock {
  release(): void;
}

/** @throws SqliteFault `in_use` if another process, or another thread of this one, holds it. */
export function lockDatabase(path: string): DatabaseLock {
  const lockPath = ownFile(path, 'lock');
  return explain(lockPath, () => {
    makeFolder(dirname(path));
    const db = new Database(lockPath, { timeout: 0 });
    try {
      // SQLite opens a read-only file without an error, and locks nothing.
      accessSync(lockPath, constants.W_OK);
      db.pragma('journal_mode = MEMORY');
      db.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      db.close();
      if (!isBusy(error)) throw error;
      throw new SqliteFault(
        'in_use',
        `another stock-mirror already serves ${path}: stop it first, or set DATABASE_PATH to another file.`,
        { cause: error },
      );
    }
    return { release: () => db.close() };
  });
}

/** Identifies the database's files, also under another path; null if they do not exist. */
export function lockIdOf(path: string): string | null {
  const found = statSync(ownFile(path, 'lock'), { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** Whether a process holds the lock; does not take it. @throws SqliteFault if this user may not look. */
export function isDatabaseLocked(path: string): boolean {
  const lockPath = ownFile(path, 'lock');
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
