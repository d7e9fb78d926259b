/** The event log as its one owner opens it: locked, its history checked. */
import { accessSync, constants, existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { RULES_VERSION } from '../core/rules-version.ts';
import { takeUpHistory, type HistoryNews } from './epoch.ts';
import { isBusy, isDamage, StoreError } from '../sqlite/errors.ts';
import { explain } from '../sqlite/explain.ts';
import { goneError, HeldFiles } from '../sqlite/held-files.ts';
import { lockDatabase, type DatabaseLock } from '../sqlite/lock.ts';
import { refuseUnknownSchema } from '../sqlite/migrate.ts';
import type { Db } from '../sqlite/open.ts';
import { setAside } from './set-aside.ts';
import { EventLog } from './event-log.ts';
import { eventLogPath, openLogForAppending } from './open-log.ts';

/** The mirror's file, which was damaged, deleted or replaced. */
export interface LostMirror {
  readonly isDamaged: boolean;
  /** What another program has changed; null: nothing is known of that. */
  readonly byHand: string | null;
}

export interface OwnLog {
  readonly db: Db;
  readonly log: EventLog;
  /** What was noticed about its history when it was opened. */
  readonly news: readonly HistoryNews[];
  /**
   * The mirror's file was damaged, deleted or replaced: afterwards whatever is at its path can be opened, and leads to
   * the event log's end. Nothing in this process may have it open.
   *
   * @returns what a person should know. @throws Error when the damaged file cannot be moved aside.
   */
  readonly heal: (found: LostMirror) => readonly HistoryNews[];
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
  let lock = lockDatabase(databasePath);
  let db: Db | undefined;
  try {
    const path = eventLogPath(databasePath);
    refuseForeign(databasePath);
    const opened = (db = openLogForAppending(path));
    const log = explain(path, () => new EventLog(opened));
    explain(path, () => log.noteRules(RULES_VERSION));
    const at = { path, databasePath };
    const news = explain(path, () => takeUpHistory(log, { ...at, nowMs: Date.now() }));
    const files = new HeldFiles([path, `${path}-wal`, `${path}-shm`]);
    const look = (): void => {
      lock = lockAgain(databasePath, lock);
      const gone = files.missing();
      if (gone === undefined) return;
      // A deleted write-ahead log is still open here: its content is saved into the file.
      opened.pragma('wal_checkpoint(PASSIVE)');
      throw goneError(gone);
    };
    const heal = ({ isDamaged, byHand }: LostMirror): HistoryNews[] => {
      const nowMs = Date.now();
      const aside = isDamaged ? setAside(databasePath, nowMs, byHand) : null;
      const more = takeUpHistory(log, { ...at, nowMs, isServing: true });
      return aside === null ? more : [aside, ...more];
    };
    return { db: opened, log, news, heal, look, release: () => lock.release() };
  } catch (error) {
    db?.close();
    lock.release();
    throw error;
  }
}

/** Who deletes the mirror with all that begins with its name takes the lock along. @throws StoreError when another process has it. */
function lockAgain(databasePath: string, lock: DatabaseLock): DatabaseLock {
  if (lock.holds()) return lock;
  try {
    const again = lockDatabase(databasePath);
    lock.release();
    return again;
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'in_use') throw error;
    // Where no such file can be made, no other process makes one either.
    return lock;
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
    let db;
    try {
      rollBackWhatWasCutShort(databasePath);
      db = new Database(databasePath, { readonly: true, timeout: 0 });
      refuseUnknownSchema(databasePath, db);
    } catch (error) {
      // Deliveries can be kept all the same; the projection waits for the lock.
      const canWait = isBusy(error);
      // It was a mirror when the event log was made, and is made of it again.
      const canHeal = isDamage(error) && existsSync(eventLogPath(databasePath));
      if (!canWait && !canHeal) throw error;
    } finally {
      db?.close();
    }
  });
}

/** A kill while the file is made leaves a journal, which only a connection that may write can roll back. */
function rollBackWhatWasCutShort(databasePath: string): void {
  if (!existsSync(`${databasePath}-journal`)) return;
  const db = new Database(databasePath, { timeout: 0 });
  try {
    db.pragma('schema_version');
  } finally {
    db.close();
  }
}
