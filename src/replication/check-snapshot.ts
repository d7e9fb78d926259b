/** Whether a fetched snapshot is intact, and its mirror is what its event log makes. Reads every page. */
import Database from 'better-sqlite3';
import { whyCopyUnfit } from '../event-log/epoch.ts';
import { EventLog } from '../event-log/event-log.ts';
import { openLogForAppending } from '../event-log/open-log.ts';
import { isDamage, StoreError } from '../sqlite/errors.ts';
import type { SnapshotFiles } from './transport.ts';
import { messageOf } from '../platform/thrown.ts';

/** @param origin what it is a copy of from now on. @returns what is wrong with it; null: nothing is. */
export function whyUnusable({ mirror, log }: SnapshotFiles, origin: string): string | null {
  try {
    return whyTorn(mirror) ?? whyTorn(log) ?? markAsCopy(mirror, log, origin);
  } catch (error) {
    const isNone = error instanceof StoreError && NO_SNAPSHOT.has(error.kind);
    if (!isNone && !isDamage(error)) throw error;
    return messageOf(error);
  }
}

const NO_SNAPSHOT: ReadonlySet<StoreError['kind']> = new Set<StoreError['kind']>([
  'damaged',
  'not_a_database',
]);

function whyTorn(path: string): string | null {
  const db = new Database(path, { fileMustExist: true });
  try {
    const found = db.pragma('integrity_check(1)', { simple: true });
    return found === 'ok' ? null : String(found);
  } finally {
    db.close();
  }
}

/** A lead's own event log says so already, and how far. */
function markAsCopy(mirror: string, logPath: string, origin: string): string | null {
  const db = openLogForAppending(logPath);
  try {
    const log = new EventLog(db);
    const { copiedFrom } = log.history();
    if (copiedFrom === null) log.copy({ rows: [], firstSeq: null, origin, cursor: null });
    const why = whyCopyUnfit(log, mirror);
    if (why === null) db.pragma('wal_checkpoint(TRUNCATE)');
    return why;
  } finally {
    db.close();
  }
}
