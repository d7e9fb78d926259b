/** Locks, opens and if needed creates the file of the inbox. */
import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import Database from 'better-sqlite3';
import { INBOX_APPLICATION_ID, INBOX_TABLES, inboxPath } from '../inbox/inbox-file.ts';
import { ownFile } from '../sqlite/database-files.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import { explain, useWal } from '../sqlite/explain.ts';
import { holdFiles } from '../sqlite/held-files.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import { BUSY_TIMEOUT_MS, type Db } from '../sqlite/open.ts';
import { refuseCutFile } from '../sqlite/refuse-cut-file.ts';
import { transact } from '../sqlite/transact.ts';

export interface OpenInbox {
  readonly db: Db;
  /** @throws Error once the files are gone: later commits would be lost. */
  readonly check: () => void;
  readonly close: () => void;
}

/** @throws SqliteFault if another process has it. */
export function lockAndOpen(databasePath: string): OpenInbox {
  const path = inboxPath(databasePath);
  const lock = lockDatabase(path);
  try {
    const db = openForWriting(path);
    // A deleted write-ahead log is still open: save its content into the file.
    const save = (): unknown => db.pragma('wal_checkpoint(PASSIVE)');
    const { check } = holdFiles([path, `${path}-wal`, `${path}-shm`, ownFile(path, 'lock')], save);
    return {
      db,
      check,
      close: () => {
        db.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Opens and if needed creates the file, without its lock. @throws SqliteFault */
export function openForWriting(path: string): Db {
  return explain(path, () => {
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      const isEmpty = db.prepare('SELECT 1 FROM sqlite_master').get() === undefined;
      if (!isEmpty && db.pragma('application_id', { simple: true }) !== INBOX_APPLICATION_ID) {
        throw new SqliteFault(
          'not_a_database',
          `${path} belongs to another program: move it away, or set DATABASE_PATH to another file.`,
        );
      }
      chmodSync(path, 0o600);
      useWal(db);
      refuseCutFile(db);
      // FULL: a commit returns once it is on disk; macOS needs fullfsync for that.
      db.pragma('synchronous = FULL');
      db.pragma('fullfsync = ON');
      // Checkpoints run after the answers, not inside a commit.
      db.pragma('wal_autocheckpoint = 0');
      db.pragma(`journal_size_limit = ${64 << 20}`);
      // Small, because appends touch only the end of the table and of its index.
      db.pragma('cache_size = -2048');
      transact(db, () => {
        if (isEmpty) {
          db.exec(INBOX_TABLES);
          db.prepare('INSERT INTO receiver (id, inbox_id) VALUES (1, ?)').run(randomBytes(8).toString('hex'));
        } else {
          // A file that another tool left without a write-ahead log gets one by the first write.
          db.exec('UPDATE receiver SET id = 1');
        }
      });
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}
