/** How far a mirror's file has come, looked up before it is opened for good. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Db } from './open.ts';

export interface MirrorPosition {
  readonly epoch: string;
  /** The last entry of the event log that its tables hold. */
  readonly appliedSeq: number;
  /** The last number of the change feed. */
  readonly changeSeq: number;
}

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
export function lookUpPosition(databasePath: string): MirrorPosition | 'unknown' | null {
  if (!existsSync(databasePath)) return null;
  let db;
  try {
    db = new Database(databasePath, { readonly: true, timeout: 0 });
    const columns = db
      .prepare<[], string>(`SELECT name FROM pragma_table_info('mirror_state')`)
      .pluck()
      .all();
    if (columns.length === 0) return null;
    if (!columns.includes('applied_seq')) return earlierPosition(db);
    return positionIn(db);
  } catch {
    return 'unknown';
  } finally {
    db?.close();
  }
}

/** Of a version that kept the event log in the same file: both were written by one transaction. */
function earlierPosition(db: Db): MirrorPosition | 'unknown' {
  const found = db
    .prepare<[], MirrorPosition>(
      `SELECT s.epoch AS epoch, (SELECT coalesce(max(seq), 0) FROM log) AS appliedSeq, m.change_seq AS changeSeq
       FROM service_state s, mirror_state m`,
    )
    .get();
  return found ?? 'unknown';
}
