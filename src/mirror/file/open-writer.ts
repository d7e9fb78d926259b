/** The connection for writing: pragmas and migrations. Apart from open.ts: most threads need no migrations. */
import { accessSync, constants, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { explain, useWal } from '../../sqlite/explain.ts';
import { makeFolder } from '../../sqlite/make-folder.ts';
import { migrate, refuseUnknownSchema } from '../../sqlite/migrate.ts';
import { BUSY_TIMEOUT_MS, type Db } from '../../sqlite/open.ts';
import { refuseFolder } from './known-mirror.ts';
import { createViews } from './views.ts';

/** The length that the write-ahead log has at most, unless a reader holds it back. */
const WAL_BYTES = 16 << 20;

/** The only connection that may write, migrated to the current schema. Creates file and folder when missing. */
export function openWriter(path: string): Db {
  return explain(path, () => {
    makeFolder(dirname(path));
    refuseFolder(path);
    replaceSides(path);
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      // SQLite opens a read-only file without an error, and fails on the first delivery.
      accessSync(path, constants.W_OK);
      // Before anything else: not even the journal mode of another program's file is changed.
      refuseUnknownSchema(path, db);
      // FULL: numbers that were handed out are on disk.
      useWal(db);
      db.pragma('synchronous = FULL');
      // macOS reports a write as durable before it is, unless asked for more; elsewhere this changes nothing.
      db.pragma('fullfsync = ON');
      db.pragma('foreign_keys = ON');
      // Nobody waits for a commit here: it moves the write-ahead log into the file itself, and shortens what a reader
      // had held back.
      db.pragma(`wal_autocheckpoint = ${WAL_BYTES / 4096}`);
      db.pragma(`journal_size_limit = ${WAL_BYTES}`);
      db.pragma('cache_size = -16384');
      db.pragma('temp_store = MEMORY');
      migrate(db);
      createViews(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** A reader under another account may have made a -wal and a -shm that this user may not write. */
function replaceSides(path: string): void {
  const [wal, shm] = [`${path}-wal`, `${path}-shm`];
  if ([wal, shm].every(isWritable)) return;
  explain(wal, () => {
    const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      // Locks out everybody else, or fails; it needs no -shm.
      db.pragma('locking_mode = EXCLUSIVE');
      refuseUnknownSchema(path, db);
      if (existsSync(wal)) {
        copyFileSync(wal, `${wal}.new`);
        renameSync(`${wal}.new`, wal);
      }
      rmSync(shm, { force: true });
    } finally {
      db.close();
    }
  });
}

/** Also true of a file that does not exist. */
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return !existsSync(path);
  }
}
