/** An online copy of mirror and event log: each as of one instant, whole, checked and on disk, or not there at all. */
import { closeSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { sqliteCode, StoreError } from '../../sqlite/errors.ts';
import { eventLogPath } from '../../event-log/open-log.ts';
import { removeDatabase, takePermissions } from '../../sqlite/database-files.ts';
import { explain, explained } from '../../sqlite/explain.ts';
import { refuseTarget } from '../../event-log/file-target.ts';
import { refuseFolder, refuseNoMirror } from './known-mirror.ts';
import { isThere } from '../../sqlite/is-there.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import { syncFile } from '../../sqlite/sync-file.ts';

interface BackupOptions {
  /** Replace existing files. */
  readonly force: boolean;
  readonly onProgress: (copiedPages: number, totalPages: number) => void;
  readonly interrupted: AbortSignal;
}

interface Backup {
  readonly path: string;
  readonly bytes: number;
  /** The copy of the event log, beside it; null: there is none to copy, as in a mirror of an earlier version. */
  readonly eventLog: { readonly path: string; readonly bytes: number } | null;
  readonly epoch: string;
  readonly lastSeq: number;
}

/** A file on its way to its copy. */
interface Part {
  readonly from: string;
  readonly to: string;
  /** Beside the copy; the copy appears whole. */
  readonly draft: string;
}

type Position = Pick<Backup, 'epoch' | 'lastSeq'>;

/** About 8 ms of work: in between, progress is shown and Ctrl-C handled. */
const PAGES_AT_ONCE = 2_000;

/**
 * Copies the mirror, and after it the event log: the log's copy then reaches at least as far as the mirror's, which goes
 * on from there. Works beside a running mirror and without one. One read transaction lasts for the whole copy of a file:
 * this keeps SQLite's online backup from ever starting over, however much is written meanwhile; those writes wait in the
 * write-ahead log.
 *
 * @returns null when interrupted; nothing is left behind then.
 * @throws StoreError, or Error naming what is in the way.
 */
export async function backupDatabase(
  from: string,
  to: string,
  options: BackupOptions,
): Promise<Backup | null> {
  const mirror = partOf(from, to);
  const log = isThere(eventLogPath(from)) ? partOf(eventLogPath(from), eventLogPath(to)) : null;
  const parts = log === null ? [mirror] : [mirror, log];
  for (const part of parts) refuseBackupTarget(from, part.to, { force: options.force });
  refuseFolder(from);
  let copying = mirror;
  try {
    const show = progressOver(parts, options);
    const position = await copy(mirror, options, show, (source) => positionIn(source, from));
    if (log !== null) {
      copying = log;
      await copy(log, options, show, () => undefined);
    }
    for (const part of parts) {
      finish(part.draft);
      options.interrupted.throwIfAborted();
    }
    // The mirror's last: where it is, both are.
    for (const part of parts.toReversed()) putInPlace(part, from, { force: options.force });
    return {
      path: to,
      bytes: statSync(to).size,
      eventLog: log === null ? null : { path: log.to, bytes: statSync(log.to).size },
      ...position,
    };
  } catch (error) {
    for (const { draft } of parts) removeDatabase(draft);
    if (options.interrupted.aborted) return null;
    throw explained(error, copying.draft);
  }
}

function partOf(from: string, to: string): Part {
  const name = `.${basename(to)}.${process.pid}.${randomBytes(4).toString('hex')}`;
  return { from, to, draft: join(dirname(to), name) };
}

type Show = (part: Part, copiedPages: number, partPages: number) => void;

/** All parts as one work. */
function progressOver(parts: readonly Part[], { onProgress }: BackupOptions): Show {
  const pages = new Map(parts.map((part) => [part, { copied: 0, total: pagesOf(part.from) }]));
  return (part, copied, total) => {
    pages.set(part, { copied, total });
    const all = [...pages.values()];
    onProgress(
      all.reduce((sum, each) => sum + each.copied, 0),
      all.reduce((sum, each) => sum + each.total, 0),
    );
  };
}

function pagesOf(path: string): number {
  const db = openReader(path);
  try {
    return explain(path, () => db.pragma('page_count', { simple: true })) as number;
  } finally {
    db.close();
  }
}

function positionIn(source: Db, from: string): Position {
  explain(from, () => refuseNoMirror(from, source));
  const position = source.prepare<[], Position>('SELECT epoch, last_seq AS lastSeq FROM mirror_status').get();
  if (position === undefined) throw new Error(`${from} has no status: it was changed by another program`);
  return position;
}

/** @param look at the file, as of the instant of the copy. */
async function copy<T>(
  part: Part,
  { interrupted }: BackupOptions,
  show: Show,
  look: (source: Db) => T,
): Promise<T> {
  const source = openReader(part.from);
  try {
    source.exec('BEGIN');
    const found = look(source);
    // The copy gets the permissions of the file, and is private while it grows.
    explain(part.draft, () => closeSync(openSync(part.draft, 'wx', 0o600)));
    await source.backup(part.draft, {
      progress: ({ totalPages, remainingPages }) => {
        interrupted.throwIfAborted();
        show(part, totalPages - remainingPages, totalPages);
        return PAGES_AT_ONCE;
      },
    });
    source.exec('COMMIT');
    interrupted.throwIfAborted();
    return found;
  } finally {
    source.close();
  }
}

/** One tidy file without a write-ahead log beside it, whose every page was read back. */
function finish(draft: string): void {
  const copy = new Database(draft, { fileMustExist: true });
  try {
    copy.pragma('journal_mode = DELETE');
    const problem = firstProblem(copy);
    if (problem === null) return;
    throw new StoreError(
      'damaged',
      `the database is damaged (${problem}), and so would its copy be: ` +
        'stop the mirror, then move the file away: the next start makes it again, from the event log or from the store',
    );
  } finally {
    copy.close();
  }
}

function firstProblem(copy: Db): string | null {
  try {
    const found = copy.pragma('integrity_check(1)', { simple: true });
    return found === 'ok' ? null : String(found);
  } catch (error) {
    if (sqliteCode(error)?.startsWith('SQLITE_CORRUPT') !== true) throw error;
    return (error as Error).message;
  }
}

/** @param database that is copied. */
function putInPlace(
  { from, to, draft }: Part,
  database: string,
  { force }: { readonly force: boolean },
): void {
  takePermissions(draft, from);
  syncFile(draft);
  // Again: copying took its time.
  refuseBackupTarget(database, to, { force });
  renameSync(draft, to);
  syncFile(dirname(to));
}

function refuseBackupTarget(from: string, to: string, { force }: { readonly force: boolean }): void {
  refuseTarget(from, to, { force });
  for (const suffix of ['-wal', '-journal']) {
    // SQLite would take it for the new file's.
    if (existsSync(to + suffix))
      throw new Error(`${to}${suffix} exists, so another program uses ${to}: name another file`);
  }
}
