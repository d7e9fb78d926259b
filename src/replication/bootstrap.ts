/** Puts a snapshot in the place of a replica's files, whole and checked, or leaves them as they are. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { whyCopyUnfit } from '../event-log/epoch.ts';
import { EventLog } from '../event-log/event-log.ts';
import { highWaterMarkPath } from '../event-log/high-water-mark.ts';
import { lookUpPosition } from '../event-log/mirror-position.ts';
import { eventLogPath, openLogForAppending, openLogForReading } from '../event-log/open-log.ts';
import { isDamage, StoreError } from '../sqlite/errors.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import { makeFolder } from '../sqlite/make-folder.ts';
import { syncFile } from '../sqlite/sync-file.ts';
import { TransportError, type Source } from './transport.ts';

interface BootstrapArgs {
  readonly databasePath: string;
  readonly source: Pick<Source, 'name' | 'getSnapshot'>;
  readonly signal: AbortSignal;
}

/**
 * Nothing in this process may have the files open.
 *
 * @returns false when there is no snapshot yet. @throws TransportError; StoreError `not_a_copy` when the files hold a
 * mirror of its own, `in_use`
 */
export async function bootstrap({ databasePath, source, signal }: BootstrapArgs): Promise<boolean> {
  makeFolder(dirname(databasePath));
  const lock = lockDatabase(databasePath);
  const mirror = join(dirname(databasePath), `.${basename(databasePath)}.snapshot.db`);
  const log = eventLogPath(mirror);
  try {
    refuseOwnMirror(databasePath);
    remove(mirror, log);
    if (!(await source.getSnapshot({ mirror, log }, signal))) return false;
    explainDamage(() => {
      checkWhole(mirror);
      checkWhole(log);
      markAsCopy(mirror, log, source.name);
    });
    rmSync(highWaterMarkPath(databasePath), { force: true });
    // What a kill in between leaves does not fit together, and is replaced again.
    putInPlace(log, eventLogPath(databasePath));
    putInPlace(mirror, databasePath);
    return true;
  } finally {
    remove(mirror, log);
    lock.release();
  }
}

/** It would be lost. @throws StoreError */
function refuseOwnMirror(databasePath: string): void {
  const logPath = eventLogPath(databasePath);
  if (!existsSync(logPath)) {
    if (!existsSync(databasePath)) return;
    throw ownMirror(databasePath);
  }
  const db = openLogForReading(logPath);
  try {
    const log = new EventLog(db);
    if (log.history().copiedFrom !== null) return;
    // A log that is made anew beside a mirror says nothing of where the mirror is from.
    if (log.lastSeq > 0 || holdsRows(databasePath)) throw ownMirror(databasePath);
  } finally {
    db.close();
  }
}

/** Where it cannot be told, too. */
function holdsRows(databasePath: string): boolean {
  const mirror = lookUpPosition(databasePath);
  return mirror === 'unknown' || (mirror !== null && (mirror.appliedSeq > 0 || mirror.changeSeq > 0));
}

function ownMirror(databasePath: string): StoreError {
  return new StoreError(
    'not_a_copy',
    `${databasePath} is a mirror of its own, or a copy whose event log is lost, which a snapshot would replace: move it and its event log away, or set DATABASE_PATH to another file.`,
  );
}

/** @throws TransportError in the place of what a file says that is none. */
function explainDamage(check: () => void): void {
  try {
    check();
  } catch (error) {
    const isNone = error instanceof StoreError && NO_SNAPSHOT.has(error.kind);
    if (!isNone && !isDamage(error)) throw error;
    const problem = error instanceof Error ? error.message : String(error);
    throw new TransportError(`the snapshot is damaged (${problem}): it is fetched again`, { cause: error });
  }
}

const NO_SNAPSHOT: ReadonlySet<StoreError['kind']> = new Set<StoreError['kind']>([
  'damaged',
  'not_a_database',
]);

function checkWhole(path: string): void {
  const db = new Database(path, { fileMustExist: true });
  try {
    const found = db.pragma('integrity_check(1)', { simple: true });
    if (found !== 'ok')
      throw new TransportError(`the snapshot is damaged (${String(found)}): it is fetched again`);
  } finally {
    db.close();
  }
}

/** A lead's own event log says so already, and how far. */
function markAsCopy(mirror: string, logPath: string, origin: string): void {
  const db = openLogForAppending(logPath);
  try {
    const log = new EventLog(db);
    const { copiedFrom } = log.history();
    if (copiedFrom === null) log.copy({ rows: [], firstSeq: null, origin, cursor: null });
    const why = whyCopyUnfit(log, mirror);
    if (why !== null)
      throw new TransportError(`the snapshot does not fit together: ${why}; it is fetched again`);
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

function putInPlace(from: string, to: string): void {
  syncFile(from);
  for (const suffix of ['-wal', '-shm', '-journal']) rmSync(to + suffix, { force: true });
  renameSync(from, to);
  syncFile(dirname(to));
}

function remove(...paths: readonly string[]): void {
  for (const path of paths) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
  }
}
