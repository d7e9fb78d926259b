import { closeSync, existsSync, fsyncSync, openSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { inboxPath } from '../../inbox/inbox-file.ts';
import { setAccess } from '../../platform/access.ts';
import { isOneOf, refuseTarget, removeDatabase, removeSides } from '../../sqlite/database-files.ts';
import { isBusy, isDamage, SqliteFault } from '../../sqlite/errors.ts';
import { explain, explained, systemCode } from '../../sqlite/explain.ts';
import { lockDatabase } from '../../sqlite/lock.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import { prepareRows } from '../../sqlite/prepared.ts';
import { refuseCutFile } from '../../sqlite/refuse-cut-file.ts';
import { refuseFolder, refuseNoMirror } from './known-mirror.ts';
import { STOPPED } from './state.ts';

interface BackupOptions {
  readonly force: boolean;
  readonly onProgress: (copiedPages: number, totalPages: number) => void;
  readonly interrupted: AbortSignal;
}

type CopyOptions = Omit<BackupOptions, 'force'>;

interface Backup {
  readonly path: string;
  readonly bytes: number;
  readonly epoch: string;
  readonly lastSeq: number;
}

/** About 8 ms of work between progress reports. */
const PAGES_AT_ONCE = 2_000;

/** How long a restore waits for programs that open the mirror only for a query. */
const READERS_CLOSE_WITHIN_MS = 3_000;
const LOOK_AGAIN_AFTER_MS = 50;

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
  return replaceByCopy(from, to, options, () => {
    refuseBackupTarget(from, to, options);
    return { mode: statSync(from).mode };
  });
}

/**
 * Puts a checked copy of `from` in the place of the mirror. The next start begins a new epoch.
 * @param from a backup, or another copy of a mirror, with its write-ahead log if it has one.
 * @returns null if interrupted. @throws SqliteFault `in_use` while a process keeps the mirror open.
 */
export async function restoreDatabase(
  from: string,
  to: string,
  options: CopyOptions,
): Promise<Backup | null> {
  if (isOneOf([to, inboxPath(to)], from)) {
    throw new Error(`${from} belongs to the mirror that would be replaced: name a copy in another place`);
  }
  refuseFolder(to);
  // No mirror starts meanwhile.
  const lock = lockDatabase(to);
  try {
    await untilUnused(to, options.interrupted);
    return await replaceByCopy(from, to, options, async () => {
      // Again, since the copy may have taken minutes.
      await untilUnused(to, options.interrupted);
      // SQLite would apply an old write-ahead log to the new file.
      removeSides(to);
      syncFile(dirname(to));
      return ownershipOfMirror(from, to);
    });
  } catch (error) {
    if (options.interrupted.aborted) return null;
    throw error;
  } finally {
    lock.release();
  }
}

/**
 * @param prepare is called once the copy is on disk; throws if `to` may not be replaced.
 * @returns null if interrupted.
 */
async function replaceByCopy(
  from: string,
  to: string,
  options: CopyOptions,
  prepare: () => Ownership | Promise<Ownership>,
): Promise<Backup | null> {
  const draft = join(dirname(to), `.${basename(to)}.${process.pid}.${randomBytes(4).toString('hex')}`);
  try {
    const position = await copy(from, draft, options);
    finish(draft);
    options.interrupted.throwIfAborted();
    const { mode, owner } = await prepare();
    setAccess(draft, { mode: mode & 0o777, owner });
    syncFile(draft);
    renameSync(draft, to);
    syncFile(dirname(to));
    return { path: to, bytes: statSync(to).size, ...position };
  } catch (error) {
    removeDatabase(draft);
    if (options.interrupted.aborted) return null;
    const code = isDamage(error) ? null : systemCode(error);
    const message = `cannot write in ${dirname(to)} (${code}): check disk space and permissions, or use another folder`;
    throw code === null ? error : new SqliteFault('unreachable', message, { cause: error });
  }
}

interface Ownership {
  readonly mode: number;
  /** undefined: the user who runs this. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/** Those of the replaced file, so that the mirror's user and its readers keep their access also if root restores. */
function ownershipOfMirror(from: string, to: string): Ownership {
  const replaced = statSync(to, { throwIfNoEntry: false });
  const { mode } = replaced ?? statSync(from);
  return process.getuid?.() === 0 ? { mode, owner: replaced ?? statSync(dirname(to)) } : { mode };
}

type CopiedPosition = Pick<Backup, 'epoch' | 'lastSeq'>;

async function copy(from: string, draft: string, options: CopyOptions): Promise<CopiedPosition> {
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

function positionIn(source: Db, from: string): CopiedPosition {
  explain(from, () => {
    refuseCutFile(source);
    refuseNoMirror(from, source);
  });
  const position = prepareRows<[], CopiedPosition>(
    source,
    {
      epoch: 'epoch',
      lastSeq: 'last_seq',
    },
    (columns) => `SELECT ${columns} FROM mirror_status`,
  ).get();
  if (position === undefined) throw new Error(`${from} has no status: it was changed by another program`);
  return position;
}

/** Turns the copy into one file without a write-ahead log, marks it as a copy, and checks every page. */
function finish(draft: string): void {
  const copy = new Database(draft, { fileMustExist: true });
  try {
    copy.pragma('journal_mode = DELETE');
    // No mirror runs on it, however young its heartbeat.
    copy.exec(`UPDATE service_state SET is_backup = 1, ${STOPPED}`);
    const problem = firstProblem(copy);
    if (problem === null) return;
    throw new SqliteFault(
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
    if (!isDamage(error)) throw error;
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

/** @throws SqliteFault `in_use` if a program still has it open after a while. @throws if interrupted. */
async function untilUnused(path: string, interrupted: AbortSignal): Promise<void> {
  const until = performance.now() + READERS_CLOSE_WITHIN_MS;
  for (;;) {
    try {
      probeUse(path);
      return;
    } catch (error) {
      // A damaged file is a reason to restore.
      if (isDamage(error)) return;
      if (!isBusy(error)) throw explained(path, error);
      if (performance.now() >= until) throw inUse(path, error);
    }
    await sleep(LOOK_AGAIN_AFTER_MS, undefined, { signal: interrupted });
  }
}

/** A connection keeps a lock on a file with a write-ahead log for as long as it is open, also while it is idle. */
function probeUse(path: string): void {
  if (!existsSync(path)) return;
  const db = new Database(path, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma('journal_mode = DELETE');
    // Restores the mode of the file, which stays in use if the restore fails.
    db.pragma('journal_mode = WAL');
  } finally {
    db.close();
  }
}

const inUse = (path: string, cause: unknown): SqliteFault =>
  new SqliteFault(
    'in_use',
    `another program has ${path} open: stop the mirror and the programs that read it (fuser -v ${path} lists them)`,
    { cause },
  );

function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
