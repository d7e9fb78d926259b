/** How far a mirror's file has come, looked up before it is opened for good. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Db } from '../sqlite/open.ts';

export interface MirrorPosition {
  readonly epoch: string;
  /** The last entry of the event log that its tables hold. */
  readonly appliedSeq: number;
  /** The last number of the change feed. */
  readonly changeSeq: number;
}

interface FoundPosition extends MirrorPosition {
  /** No stamp in it is later. */
  readonly latestMs: number;
}

const LATEST = `
  SELECT max(coalesce(s.alive_at_ms, 0), coalesce((SELECT max(read_at_ms) FROM products), 0),
    coalesce((SELECT max(recorded_at_ms) FROM (SELECT recorded_at_ms FROM changes ORDER BY seq DESC LIMIT 1)), 0))
  FROM service_state s`;

const POSITION = `
  SELECT s.epoch AS epoch, m.applied_seq AS appliedSeq, m.change_seq AS changeSeq
  FROM service_state s, mirror_state m`;

export function positionIn(db: Db): MirrorPosition {
  const position = db.prepare<[], MirrorPosition>(POSITION).get();
  if (position === undefined) {
    throw new Error('service_state has no row: the database was changed by another program');
  }
  return position;
}

/**
 * @returns null when there is no mirror; `unknown` when its file cannot be read now: whoever opens it finds out why.
 */
export function lookUpPosition(databasePath: string): FoundPosition | 'unknown' | null {
  if (!existsSync(databasePath)) return null;
  let db;
  try {
    db = new Database(databasePath, { readonly: true, timeout: 0 });
    const columns = db
      .prepare<[], string>(`SELECT name FROM pragma_table_info('mirror_state')`)
      .pluck()
      .all();
    if (columns.length === 0) return null;
    const position = columns.includes('applied_seq') ? positionIn(db) : earlierPosition(db);
    return { ...position, latestMs: db.prepare<[], number>(LATEST).pluck().get() ?? 0 };
  } catch {
    return 'unknown';
  } finally {
    db?.close();
  }
}

/** Of a version that kept the event log in the same file: both were written by one transaction. */
function earlierPosition(db: Db): MirrorPosition {
  const found = db
    .prepare<[], MirrorPosition>(
      `SELECT s.epoch AS epoch, (SELECT coalesce(max(seq), 0) FROM log) AS appliedSeq, m.change_seq AS changeSeq
       FROM service_state s, mirror_state m`,
    )
    .get();
  if (found === undefined) throw new Error('service_state has no row');
  return found;
}
