/** The files of a mirror and its event log while no process has them open. */
import { constants, copyFileSync, existsSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { eventLogPath } from '../../src/event-log/open-log.ts';

const DAY_MS = 24 * 60 * 60_000;

/**
 * Copies what a kill left, to be looked at: opening the files themselves would recover them, which is the next
 * start's work. The shared memory is left out, as after a power cut.
 *
 * @returns false when there is no database yet.
 */
export function copyDatabase(from: string, to: string): boolean {
  removeDatabase(to);
  if (!existsSync(from)) return false;
  for (const [file, copy] of [
    [from, to],
    [eventLogPath(from), eventLogPath(to)],
  ] as const) {
    for (const suffix of ['', '-wal']) {
      if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix, constants.COPYFILE_FICLONE);
    }
  }
  return true;
}

/** And the mark beside it: what is made there next is another mirror's first start. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '.mark']) rmSync(path + suffix, { force: true });
  for (const suffix of ['', '-wal', '-shm', '.draft']) rmSync(eventLogPath(path) + suffix, { force: true });
}

/** So that queries find it as `log`, with what its write-ahead log held. */
export function attachLog(db: Database.Database, path: string): void {
  const logPath = eventLogPath(path);
  new Database(logPath).close();
  db.prepare('ATTACH ? AS event_log').run(logPath);
}

/** What is numbered below these is old enough to be pruned. */
export interface Aged {
  readonly logSeq: number;
  readonly changeSeq: number;
}

/** The rules look at these many of the latest changes: pruning in earnest is days away from them. */
const KEPT_CHANGES = 5_500;

/**
 * Makes the log and the changes old, but for the latest, as if months had passed.
 *
 * @returns null when every start so far was killed before it had made the tables.
 */
export function age(path: string, days: number): Aged | null {
  if (!existsSync(path) || !existsSync(eventLogPath(path))) return null;
  const db = new Database(path, { fileMustExist: true });
  try {
    attachLog(db, path);
    if (db.prepare(`SELECT 1 FROM main.sqlite_master WHERE name = 'changes'`).get() === undefined)
      return null;
    const changeSeq = valueOf(db, 'SELECT seq FROM changes ORDER BY seq DESC LIMIT 1 OFFSET ?', KEPT_CHANGES);
    const logSeq = valueOf(db, 'SELECT log_seq FROM changes WHERE seq = ?', changeSeq);
    const byMs = days * DAY_MS;
    db.transaction(() => {
      db.prepare('UPDATE log SET at_ms = at_ms - ? WHERE seq < ?').run(byMs, logSeq);
      db.prepare('UPDATE changes SET recorded_at_ms = recorded_at_ms - ? WHERE seq < ?').run(byMs, changeSeq);
    })();
    return { logSeq, changeSeq };
  } finally {
    db.close();
  }
}

/** 0 when there is no such row. */
function valueOf(db: Database.Database, sql: string, arg: number): number {
  return db.prepare<[number], number>(sql).pluck().get(arg) ?? 0;
}
