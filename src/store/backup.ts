/** An online copy of the database: as of one instant, whole, checked and on disk, or not there at all. */
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { sqliteCode, StoreError } from './errors.ts';
import { explain } from './explain.ts';
import { refuseTarget } from './file-target.ts';
import { refuseFolder, refuseNoMirror } from './known-mirror.ts';
import { openReader, type Db } from './open.ts';

export interface BackupOptions {
  /** Replace an existing file. */
  readonly force: boolean;
  readonly onProgress: (copiedPages: number, totalPages: number) => void;
  readonly interrupted: AbortSignal;
}

export interface Backup {
  readonly path: string;
  readonly bytes: number;
  readonly epoch: string;
  readonly lastSeq: number;
}

/** About 8 ms of work: in between, progress is shown and Ctrl-C handled. */
const PAGES_AT_ONCE = 2_000;

/**
 * Works beside a running writer and without one. One read transaction lasts for the whole copy: this keeps SQLite's
 * online backup from ever starting over, however much is written meanwhile; those writes wait in the write-ahead log.
 *
 * @returns null when interrupted; nothing is left behind then.
 * @throws StoreError, or Error naming what is in the way.
 */
export async function backupDatabase(
  from: string,
  to: string,
  options: BackupOptions,
): Promise<Backup | null> {
  refuseBackupTarget(from, to, options.force);
  const draft = join(dirname(to), `.${basename(to)}.${process.pid}.${randomBytes(4).toString('hex')}`);
  refuseFolder(from);
  const source = openReader(from);
  try {
    explain(from, () => refuseNoMirror(from, source));
    source.exec('BEGIN');
    const position = source
      .prepare<[], Pick<Backup, 'epoch' | 'lastSeq'>>('SELECT epoch, last_seq AS lastSeq FROM mirror_status')
      .get();
    if (position === undefined) throw new Error(`${from} has no status: it was changed by another program`);
    // The copy gets the permissions of the database, and is private while it grows.
    explain(draft, () => closeSync(openSync(draft, 'wx', 0o600)));
    await source.backup(draft, {
      progress: ({ totalPages, remainingPages }) => {
        options.interrupted.throwIfAborted();
        options.onProgress(totalPages - remainingPages, totalPages);
        return PAGES_AT_ONCE;
      },
    });
    source.exec('COMMIT');
    options.interrupted.throwIfAborted();
    finish(draft);
    options.interrupted.throwIfAborted();
    putInPlace(draft, from, to, options.force);
    return { path: to, bytes: statSync(to).size, ...position };
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(draft + suffix, { force: true });
    if (options.interrupted.aborted) return null;
    throw explained(error, draft);
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
        'restore an earlier backup, or move the database away; the mirror is then read again from the store',
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

function putInPlace(draft: string, from: string, to: string, force: boolean): void {
  const file = openSync(draft, 'r+');
  fchmodSync(file, statSync(from).mode & 0o777);
  fsyncSync(file);
  closeSync(file);
  // Again: copying took its time.
  refuseBackupTarget(from, to, force);
  renameSync(draft, to);
  const folder = openSync(dirname(to), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

function refuseBackupTarget(from: string, to: string, force: boolean): void {
  refuseTarget(from, to, force);
  for (const suffix of ['-wal', '-journal']) {
    // SQLite would take it for the new file's.
    if (existsSync(to + suffix))
      throw new Error(`${to}${suffix} exists, so another program uses ${to}: name another file`);
  }
}

/** A full disk and the like, named with the file it happened to. */
function explained(error: unknown, path: string): unknown {
  try {
    explain(path, () => {
      throw error;
    });
  } catch (named) {
    return error instanceof Error && 'code' in error ? named : error;
  }
  return error;
}
