/** Puts a snapshot in the place of a replica's files, whole and checked, or leaves them as they are. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { whyCopyUnfit } from '../event-log/epoch.ts';
import { EventLog } from '../event-log/event-log.ts';
import { highWaterMarkPath } from '../event-log/high-water-mark.ts';
import { eventLogPath, openLogForAppending, openLogForReading } from '../event-log/open-log.ts';
import { isDamage, sqliteCode, StoreError } from '../sqlite/errors.ts';
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
    checkWhole(mirror);
    checkWhole(log);
    markAsCopy(mirror, log, source.name);
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
    if (log.lastSeq > 0 && log.history().copiedFrom === null) throw ownMirror(databasePath);
  } finally {
    db.close();
  }
}

function ownMirror(databasePath: string): StoreError {
  return new StoreError(
    'not_a_copy',
    `${databasePath} is a mirror of its own, which a snapshot would replace: move it and its event log away, or set DATABASE_PATH to another file.`,
  );
}

/** @throws TransportError */
function checkWhole(path: string): void {
  const problem = problemOf(path);
  if (problem !== null) throw new TransportError(`the snapshot is damaged (${problem}): it is fetched again`);
}

function problemOf(path: string): string | null {
  const db = new Database(path, { fileMustExist: true });
  try {
    const found = db.pragma('integrity_check(1)', { simple: true });
    return found === 'ok' ? null : String(found);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return sqliteCode(error);
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
