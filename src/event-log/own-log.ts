/** The event log as its one owner opens it: locked, and its files watched. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { explain } from '../sqlite/explain.ts';
import { holdFiles } from '../sqlite/held-files.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import { refuseUnknownSchema } from '../sqlite/migrate.ts';
import type { Db } from '../sqlite/open.ts';
import { EventLog } from './event-log.ts';
import { eventLogPath, openLogForAppending } from './open-log.ts';

export interface OwnLog {
  readonly db: Db;
  readonly log: EventLog;
  /** To be called about once a second. @throws Error when its files are gone: what is appended from then on is lost. */
  readonly look: () => void;
  /** Lets others write it. After `db.close()`. */
  readonly release: () => void;
}

/**
 * @param databasePath of the mirror that the event log belongs to.
 * @throws StoreError when it is in use, not an event log, too new, or out of reach.
 */
export function openOwnLog(databasePath: string): OwnLog {
  const path = eventLogPath(databasePath);
  if (!existsSync(path)) refuseForeign(databasePath);
  const lock = lockDatabase(path);
  let db: Db | undefined;
  try {
    const opened = (db = openLogForAppending(path));
    const log = explain(path, () => new EventLog(opened));
    const checkFiles = holdFiles([path, `${path}-wal`, `${path}-shm`]);
    const look = (): void => {
      try {
        checkFiles();
      } catch (error) {
        // A deleted write-ahead log is still open here: its content is saved into the file.
        opened.pragma('wal_checkpoint(PASSIVE)');
        throw error;
      }
    };
    return { db: opened, log, look, release: () => lock.release() };
  } catch (error) {
    db?.close();
    lock.release();
    throw error;
  }
}

/** A first start leaves another program's database alone: DATABASE_PATH is wrong. @throws StoreError */
function refuseForeign(databasePath: string): void {
  if (!existsSync(databasePath)) return;
  const db = new Database(databasePath, { readonly: true, timeout: 0 });
  try {
    explain(databasePath, () => refuseUnknownSchema(databasePath, db));
  } finally {
    db.close();
  }
}
