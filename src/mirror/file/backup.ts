import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { inboxPath } from '../../inbox/inbox.ts';
import { refuseTarget, removeDatabase } from '../../sqlite/database-files.ts';
import { isDamage, sqliteCode, StoreError } from '../../sqlite/errors.ts';
import { explain, systemCode } from '../../sqlite/explain.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import { refuseFolder, refuseNoMirror } from './known-mirror.ts';

interface BackupOptions {
  readonly force: boolean;
  readonly onProgress: (copiedPages: number, totalPages: number) => void;
  readonly interrupted: AbortSignal;
}

interface Backup {
  readonly path: string;
  readonly bytes: number;
  readonly epoch: string;
  readonly lastSeq: number;
}

/** About 8 ms of work between progress reports. */
const PAGES_AT_ONCE = 2_000;

/**
 * One checked instant on disk, or no file. One read transaction spans the copy, because SQLite would start its backup
 * over after a write. A mirror started on the copy begins a new epoch. @returns null if interrupted.
 */
export async function backupDatabase(
  from: string,
  to: string,
  options: BackupOptions,
): Promise<Backup | null> {
  refuseBackupTarget(from, to, options);
  refuseFolder(from);
  const draft = join(dirname(to), `.${basename(to)}.${process.pid}.${randomBytes(4).toString('hex')}`);
  try {
    const position = await copy(from, draft, options);
    finish(draft);
    options.interrupted.throwIfAborted();
    chmodSync(draft, statSync(from).mode & 0o777);
    syncFile(draft);
    refuseBackupTarget(from, to, options);
    renameSync(draft, to);
    syncFile(dirname(to));
    return { path: to, bytes: statSync(to).size, ...position };
  } catch (error) {
    removeDatabase(draft);
    if (options.interrupted.aborted) return null;
    const code = isDamage(error) ? null : systemCode(error);
    const message = `cannot write in ${dirname(to)} (${code}): check disk space and permissions, or use another folder`;
    throw code === null ? error : new StoreError('unreachable', message, { cause: error });
  }
}

type Position = Pick<Backup, 'epoch' | 'lastSeq'>;

async function copy(from: string, draft: string, options: BackupOptions): Promise<Position> {
  const { onProgress, interrupted } = options;
  const source = openReader(from);
  try {
    source.exec('BEGIN');
    const position = positionIn(source, from);
    closeSync(openSync(draft, 'wx', 0o600));
    await source.backup(draft, {
      progress: ({ totalPages, remainingPages }) => {
        interrupted.throwIfAborted();
        onProgress(totalPages - remainingPages, totalPages);
        return PAGES_AT_ONCE;
      },
    });
    source.exec('COMMIT');
    interrupted.throwIfAborted();
    return position;
  } finally {
    source.close();
  }
}

function positionIn(source: Db, from: string): Position {
  explain(from, () => refuseNoMirror(from, source));
  const position = source.prepare<[], Position>('SELECT epoch, last_seq AS lastSeq FROM mirror_status').get();
  if (position === undefined) throw new Error(`${from} has no status: it was changed by another program`);
  return position;
}

/** Turns the copy into one file without a write-ahead log, and checks every page. */
function finish(draft: string): void {
  const copy = new Database(draft, { fileMustExist: true });
  try {
    copy.pragma('journal_mode = DELETE');
    // No mirror runs on it, however young its heartbeat.
    copy.exec(`UPDATE service_state SET is_backup = 1, state = 'stale', state_cause = 'stopped'`);
    const problem = firstProblem(copy);
    if (problem === null) return;
    throw new StoreError(
      'damaged',
      `the database is damaged (${problem}), so a copy would be too. ` +
        'A running mirror moves the file aside and reads everything again; if none runs, start it',
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

function refuseBackupTarget(from: string, to: string, { force }: { readonly force: boolean }): void {
  refuseTarget([from, inboxPath(from)], to, { force });
  // SQLite would apply it to the new file.
  const side = ['-wal', '-journal'].find((suffix) => existsSync(to + suffix));
  if (side === undefined) return;
  throw new Error(`${to}${side} exists, so another program uses ${to}: name another file`);
}

function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
