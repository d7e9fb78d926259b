/** The event log as its one owner opens it: locked, taken over from an earlier version, its history checked. */
import { accessSync, constants, existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { RULES_VERSION } from '../../core/rules-version.ts';
import { takeUpHistory, type HistoryNews } from '../epoch.ts';
import { isBusy } from '../errors.ts';
import { explain } from '../explain.ts';
import { goneError, HeldFiles } from '../held-files.ts';
import { lockDatabase } from '../lock.ts';
import { refuseUnknownSchema } from '../migrate.ts';
import type { Db } from '../open.ts';
import { EventLog } from './event-log.ts';
import { eventLogPath, openLogForAppending } from './open-log.ts';
import { takeOverLog } from './take-over.ts';

export interface OwnLog {
  readonly db: Db;
  readonly log: EventLog;
  /** What was noticed about its history when it was opened. */
  readonly news: readonly HistoryNews[];
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
  const lock = lockDatabase(databasePath);
  let db: Db | undefined;
  try {
    const path = eventLogPath(databasePath);
    refuseForeign(databasePath);
    takeOverLog(databasePath, path);
    const opened = (db = openLogForAppending(path));
    const log = explain(path, () => new EventLog(opened));
    explain(path, () => log.noteRules(RULES_VERSION));
    const news = explain(path, () => takeUpHistory(log, { path, databasePath, nowMs: Date.now() }));
    const files = new HeldFiles([path, `${path}-wal`, `${path}-shm`, `${databasePath}.lock`]);
    const look = (): void => {
      const gone = files.missing();
      if (gone === undefined) return;
      // A deleted write-ahead log is still open here: its content is saved into the file.
      opened.pragma('wal_checkpoint(PASSIVE)');
      throw goneError(gone);
    };
    return { db: opened, log, news, look, release: () => lock.release() };
  } catch (error) {
    db?.close();
    lock.release();
    throw error;
  }
}

/**
 * Before anything is made beside it: another program's file is left alone, and so is what a newer version wrote.
 *
 * @throws StoreError
 */
function refuseForeign(databasePath: string): void {
  if (!existsSync(databasePath)) return;
  explain(databasePath, () => {
    // Opened all the same, such a file would leave shared memory behind that may only be read either.
    accessSync(databasePath, constants.W_OK);
    const db = new Database(databasePath, { readonly: true, timeout: 0 });
    try {
      refuseUnknownSchema(databasePath, db);
    } catch (error) {
      // Deliveries can be kept all the same; the projection waits for the lock.
      if (!isBusy(error)) throw error;
    } finally {
      db.close();
    }
  });
}
