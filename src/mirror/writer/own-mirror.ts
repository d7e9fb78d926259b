/** The mirror's file as its projection opens it, by the start rule. */
import { existsSync, renameSync, statSync } from 'node:fs';
import { REPLICA_LAG_MS } from '../../core/limits.ts';
import { openLogForReading, eventLogPath } from '../../event-log/open-log.ts';
import { LogReader, readingLog } from '../../event-log/read-log.ts';
import { removeDatabase } from '../../sqlite/database-files.ts';
import { isDamage, StoreError } from '../../sqlite/errors.ts';
import { explain } from '../../sqlite/explain.ts';
import type { Db } from '../../sqlite/open.ts';
import { openWriter } from '../file/open-writer.ts';
import { logPosition, mirrorPosition } from '../file/position.ts';
import { whyNewEpoch, type FoundMirror } from '../start-rule.ts';
import type { OwnMirror } from './apply-loop.ts';
import { Projection } from './projection.ts';
import { Upkeep } from './upkeep.ts';

/** A mirror that begins a new epoch, and why. */
export interface NewEpoch {
  readonly why: string;
  /** Nothing was handed out before. */
  readonly isFirst: boolean;
  /** Where the file is that was at the mirror's path; null if there was none. */
  readonly aside: string | null;
}

/** Entries that arrived this late before the last one may not show in a read that is sent now. */
const TAIL_MS = 10_000;

export interface OpenOptions {
  /** Why the file at the path must not be used; null: it may be. */
  readonly condemned: string | null;
  /** A mirror beyond this entry was not made from this event log, which may have grown since it was opened. */
  readonly endSeq: number;
}

/**
 * The event log must be open already: it holds the lock of both.
 *
 * @throws StoreError when the file is locked, or out of reach.
 */
export function openOwnMirror(path: string, { condemned, endSeq }: OpenOptions): OwnMirror {
  const logPath = eventLogPath(path);
  const logDb = readingLog(logPath, () => openLogForReading(logPath));
  let db: Db | undefined;
  try {
    const log = readingLog(logDb.name, () => logPosition(logDb));
    const found = look(path, condemned);
    db = found.db;
    const why = explain(path, () => whyNewEpoch({ ...log, lastSeq: endSeq }, found.mirror));
    let newEpoch: NewEpoch | null = null;
    if (why !== null) {
      db?.close();
      const aside = explain(path, () => moveAside(path));
      const fresh = (db = openWriter(path));
      const changeSeq = Math.max(log.changeSeq, changeSeqOf(found.mirror));
      explain(path, () => begin(fresh, logDb, changeSeq));
      newEpoch = { why, aside, isFirst: aside === null && changeSeq === 0 };
    }
    return owned(path, present(db), logDb, newEpoch);
  } catch (error) {
    db?.close();
    logDb.close();
    throw error;
  }
}

interface Found {
  readonly mirror: FoundMirror;
  readonly db?: Db;
}

function look(path: string, condemned: string | null): Found {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return { mirror: 'missing' };
  if (condemned !== null) return { mirror: { unusable: condemned } };
  let db;
  try {
    const opened = (db = openWriter(path));
    return { mirror: explain(path, () => mirrorPosition(opened)), db };
  } catch (error) {
    db?.close();
    if (!isUnusable(error)) throw error;
    return { mirror: { unusable: error.message } };
  }
}

/** The same file would be refused again, whatever its surroundings. */
function isUnusable(error: unknown): error is Error {
  return error instanceof StoreError && (UNUSABLE.has(error.kind) || isDamage(error));
}
const UNUSABLE = new Set<StoreError['kind']>(['damaged', 'not_a_database', 'newer_schema']);

function changeSeqOf(mirror: FoundMirror): number {
  return mirror === 'missing' || 'unusable' in mirror ? 0 : mirror.changeSeq;
}

/** It takes the place of one that was moved aside before. @returns where it is; null if there was none. */
function moveAside(path: string): string | null {
  const aside = `${path}.aside`;
  const isThere = existsSync(path);
  if (!isThere) {
    removeDatabase(path);
    return null;
  }
  removeDatabase(aside);
  for (const side of ['', '-wal', '-shm', '-journal']) {
    if (existsSync(path + side)) renameSync(path + side, aside + side);
  }
  return aside;
}

/** The last entries are applied again, and no read that was sent before them counts. */
function begin(db: Db, logDb: Db, changeSeq: number): void {
  const tail = readingLog(logDb.name, () =>
    logDb
      .prepare<[number], { readonly appliedSeq: number; readonly lastAtMs: number }>(
        `SELECT coalesce(max(l.seq) FILTER (WHERE l.at_ms < last.at_ms - ?), min(l.seq) - 1) AS appliedSeq,
           last.at_ms AS lastAtMs
         FROM log l, (SELECT at_ms FROM log ORDER BY seq DESC LIMIT 1) last GROUP BY last.at_ms`,
      )
      .get(TAIL_MS),
  );
  db.prepare('UPDATE mirror_state SET change_seq = ?').run(changeSeq);
  if (tail === undefined) return;
  db.prepare('UPDATE mirror_state SET applied_seq = ?, trusted_after_ms = ?').run(
    tail.appliedSeq,
    tail.lastAtMs + REPLICA_LAG_MS,
  );
}

function owned(path: string, db: Db, logDb: Db, newEpoch: NewEpoch | null): OwnMirror {
  explain(path, () =>
    db.exec('UPDATE service_state SET stopped_at_ms = NULL WHERE stopped_at_ms IS NOT NULL'),
  );
  const projection = explain(path, () => new Projection(db, new LogReader(logDb)));
  const upkeep = new Upkeep(db, path);
  return {
    db,
    projection,
    position: mirrorPosition(db),
    newEpoch,
    look: () => upkeep.look(),
    markStopped: () => {
      try {
        db.exec('UPDATE service_state SET stopped_at_ms = alive_at_ms');
      } catch {
        // Locked by another program, or damaged: readers then learn it from the age of the heartbeat.
      }
    },
    close: () => {
      db.close();
      logDb.close();
    },
  };
}

function present(db: Db | undefined): Db {
  if (db === undefined) throw new Error('no mirror was opened');
  return db;
}
