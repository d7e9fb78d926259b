/** A snapshot for a replica: fetched whole and checked, and then put in the place of its files. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { EventLog } from '../event-log/event-log.ts';
import { highWaterMarkPath } from '../event-log/high-water-mark.ts';
import { lookUpPosition } from '../event-log/mirror-position.ts';
import { eventLogPath, openLogForReading } from '../event-log/open-log.ts';
import { removeSides, takeOwnerAndPermissions } from '../sqlite/database-files.ts';
import { StoreError } from '../sqlite/errors.ts';
import { explained } from '../sqlite/explain.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import { makeFolder } from '../sqlite/make-folder.ts';
import { syncFile } from '../sqlite/sync-file.ts';
import { checkSnapshot } from './make-snapshot.ts';
import { removeSnapshot, snapshotFiles } from './snapshot-files.ts';
import type { SnapshotFiles, Source } from './transport.ts';

interface FetchArgs {
  readonly databasePath: string;
  readonly source: Pick<Source, 'name' | 'getSnapshot'>;
  readonly signal: AbortSignal;
}

/** Beside the files that it is to replace. */
export interface FetchedSnapshot {
  /** Nothing may have the files open. @throws StoreError `in_use` */
  putInPlace(): void;
  /** Instead: it is not wanted any more. */
  discard(): void;
}

/**
 * Keeps the files of a mirror for its first snapshot, so that no other process begins one there.
 *
 * @returns what lets go of them; null when they hold something. @throws StoreError
 */
export function reserveFiles(databasePath: string): (() => void) | null {
  const lock = lockDatabase(databasePath);
  if (holdsNothing(databasePath)) return () => lock.release();
  lock.release();
  return null;
}

/**
 * The files may be in use meanwhile.
 *
 * @returns null when there is no snapshot yet. @throws TransportError; StoreError `no_room`, `unreachable`; `not_a_copy`
 * when the files hold a mirror of its own
 */
export async function fetchSnapshot({
  databasePath,
  source,
  signal,
}: FetchArgs): Promise<FetchedSnapshot | null> {
  makeFolder(dirname(databasePath));
  const files = snapshotFiles(databasePath, 'snapshot');
  refuseOwnMirror(databasePath);
  removeSnapshot(files);
  try {
    if (!(await source.getSnapshot(files, signal))) return null;
    await checkSnapshot(files, source.name, signal);
  } catch (error) {
    removeSnapshot(files);
    throw explained(error, files.mirror);
  }
  return { putInPlace: () => replaceBy(files, databasePath), discard: () => removeSnapshot(files) };
}

function replaceBy(files: SnapshotFiles, databasePath: string): void {
  const lock = lockDatabase(databasePath);
  try {
    rmSync(highWaterMarkPath(databasePath), { force: true });
    // After a kill in between, the two files do not belong together, and are replaced again.
    putInPlace(files.log, eventLogPath(databasePath));
    putInPlace(files.mirror, databasePath);
  } finally {
    removeSnapshot(files);
    lock.release();
  }
}

/** What cannot be read is explained by whoever opens it for good. */
function holdsNothing(databasePath: string): boolean {
  const logPath = eventLogPath(databasePath);
  if (!existsSync(logPath)) return !existsSync(databasePath);
  try {
    const db = openLogForReading(logPath);
    try {
      const log = new EventLog(db);
      return log.history().copiedFrom === null && log.lastSeq === 0 && !holdsRows(databasePath);
    } finally {
      db.close();
    }
  } catch {
    return false;
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

function putInPlace(from: string, to: string): void {
  takeOwnerAndPermissions(from, to);
  syncFile(from);
  removeSides(to);
  renameSync(from, to);
  syncFile(dirname(to));
}
