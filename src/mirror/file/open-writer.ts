/** Separate from sqlite/open.ts because most threads need no migrations. */
import { accessSync, constants, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { ownFile } from '../../sqlite/database-files.ts';
import { explain, useWal } from '../../sqlite/explain.ts';
import { migrate, refuseUnknownSchema } from '../../sqlite/migrate.ts';
import { BUSY_TIMEOUT_MS, type Db } from '../../sqlite/open.ts';
import { refuseCutFile } from '../../sqlite/refuse-cut-file.ts';
import { MIRROR_APPLICATION_ID, refuseFolder } from './known-mirror.ts';
import { createViews } from './views.ts';

const WAL_BYTES = 16 << 20;

/** Opens the only connection that may write; creates the file, and migrates. @throws SqliteFault */
export function openWriter(path: string): Db {
  return explain(path, () => {
    refuseFolder(path);
    replaceSides(path);
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      // SQLite opens a read-only file without an error and fails on the first write.
      accessSync(path, constants.W_OK);
      // Check first: do not change another program's file, not even its journal mode.
      refuseUnknownSchema(path, db);
      // FULL: change numbers that readers have seen are on disk; on macOS, only fullfsync does that.
      useWal(db);
      refuseCutFile(db);
      db.pragma('synchronous = FULL');
      db.pragma('fullfsync = ON');
      db.pragma('foreign_keys = ON');
      // No answer waits for a commit here, so commits may checkpoint and truncate the log.
      db.pragma(`wal_autocheckpoint = ${WAL_BYTES / 4096}`);
      db.pragma(`journal_size_limit = ${WAL_BYTES}`);
      db.pragma('cache_size = -16384');
      db.pragma('temp_store = MEMORY');
      migrate(db);
      if (db.pragma('application_id', { simple: true }) !== MIRROR_APPLICATION_ID) {
        db.pragma(`application_id = ${MIRROR_APPLICATION_ID}`);
      }
      createViews(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Replaces a -wal and -shm that a reader under another account created and this user cannot write. */
function replaceSides(path: string): void {
  const [wal, shm] = [`${path}-wal`, `${path}-shm`];
  if ([wal, shm].every(isWritable)) return;
  explain(wal, () => {
    const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      // Locks out all others or fails; needs no -shm.
      db.pragma('locking_mode = EXCLUSIVE');
      refuseUnknownSchema(path, db);
      if (existsSync(wal)) {
        copyFileSync(wal, ownFile(wal, 'unfinished'));
        renameSync(ownFile(wal, 'unfinished'), wal);
      }
      rmSync(shm, { force: true });
    } finally {
      db.close();
    }
  });
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return !existsSync(path);
  }
}
