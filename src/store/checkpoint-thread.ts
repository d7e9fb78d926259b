/**
 * Moves the write-ahead log into the database file, off the path of any answer: passive, so that neither the writer
 * nor a reader waits for it. Under a steady stream of writes a passive checkpoint never catches the last of them, and
 * the log would only grow: now and then the writer is asked to move the few remaining frames between two commits, and
 * the log starts over. A reader that holds the log back for long is reported to the main thread. At the same pace
 * this thread keeps the high-water mark (mark.ts), and checks that the paths still lead to the open files, the event
 * log's among them.
 */
import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { eventLogPath } from './event-log/open-log.ts';
import { MarkKeeper, type MarkNews } from './mark.ts';
import { ownerOfThread } from './thread.ts';

export interface WalNews {
  readonly type: 'held_back' | 'failed';
  readonly walBytes: number;
  readonly message: string;
}

export type CheckpointNews = WalNews | MarkNews;

/** Nearly all of the log is in the database: the writer may let it start over. */
export interface RestartWanted {
  readonly type: 'restart';
  /** To which length the log's file is cut; null: it keeps its length. */
  readonly keepBytes: number | null;
}

export type FromCheckpointer = CheckpointNews | RestartWanted;

const EVERY_MS = 1_000;
/**
 * How often the log is checked: one that has grown beyond this is moved at once; a flood writes more within a second.
 */
const GLANCE_MS = 200;
const FLOOD_WAL_BYTES = 64 << 20;
/** Below this a checkpoint is not worth its writes. */
const MIN_WAL_BYTES = 1 << 20;
/** Above this the log is made to start over, in the same file: overwriting it costs the disk less than growing it. */
const RESTART_WAL_BYTES = 16 << 20;
/** The last remainder must take less than this: the writer waits while it is moved. */
const SLOW_DISK_MS = 100;
/**
 * Each pass leaves what was written meanwhile, which under a flood is much after the first pass and little after the
 * third.
 */
const MAX_PASSES = 5;
/** A log this long that a reader holds deserves a person's attention, and again every so often. */
const LONG_WAL_BYTES = 256 << 20;
/**
 * From here on its file is shortened, this much at a time: a commit of the writer does it, and the system takes a
 * third of a second for each gigabyte.
 */
const CUT_BYTES = 32 << 20;
const NEWS_EVERY_MS = 60_000;

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** @returns null when nothing is there. */
function inodeOf(path: string): string | null {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino.toString() ?? null;
}

function main(): void {
  const { owner, path } = ownerOfThread<'stop', FromCheckpointer>();
  const db = new Database(path, { fileMustExist: true });
  const pageBytes = db.pragma('page_size', { simple: true }) as number;
  const inode = inodeOf(path);
  // SQLite keeps its two files as long as a connection is open, and there is no reason to touch the lock.
  const logPath = eventLogPath(path);
  const logDb = new Database(logPath, { fileMustExist: true });
  // SQLite opens the write-ahead log with the first statement: later it may be gone.
  logDb.pragma('schema_version');
  const beside = [
    ...['-wal', '-shm', '.lock'].map((end) => path + end),
    ...['', '-wal', '-shm'].map((end) => logPath + end),
  ].map((file) => ({ file, inode: inodeOf(file) }));
  const keeper = new MarkKeeper(db, path);
  const nextNewsAtMs = { wal: 0, mark: 0 };
  const tell = (news: CheckpointNews): void => {
    const about = news.type === 'mark_failed' ? 'mark' : 'wal';
    if (performance.now() < nextNewsAtMs[about]) return;
    nextNewsAtMs[about] = performance.now() + NEWS_EVERY_MS;
    owner.post(news);
  };
  const checkpoint = (): CheckpointRow => {
    const [row] = db.pragma('wal_checkpoint(PASSIVE)') as CheckpointRow[];
    if (row === undefined) throw new Error('wal_checkpoint returned nothing');
    return row;
  };
  /** @returns false when the disk is too slow for the writer to move the rest. */
  const catchUp = (): boolean => {
    for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
      const startedMs = performance.now();
      checkpoint();
      if (performance.now() - startedMs <= SLOW_DISK_MS) return true;
    }
    return false;
  };
  let isTooLong = false;
  const keepShort = (fileBytes: number): void => {
    const { log, checkpointed } = checkpoint();
    const heldPages = log - checkpointed;
    if (heldPages > 0) {
      if (log * pageBytes < LONG_WAL_BYTES) return;
      const message = `another program's read transaction keeps ${heldPages} pages in the write-ahead log, which grows until it ends: end that transaction (\`stock-mirror doctor\` names the process)`;
      tell({ type: 'held_back', walBytes: log * pageBytes, message });
      return;
    }
    isTooLong = fileBytes >= LONG_WAL_BYTES || (isTooLong && fileBytes > RESTART_WAL_BYTES);
    if (log * pageBytes < RESTART_WAL_BYTES && !isTooLong) return;
    const isShort = catchUp();
    if (!isShort && log * pageBytes < LONG_WAL_BYTES) return;
    owner.post({
      type: 'restart',
      keepBytes: isTooLong ? Math.max(RESTART_WAL_BYTES, fileBytes - CUT_BYTES) : null,
    });
  };

  const saveEventLog = (): void => {
    try {
      logDb.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The reason why this thread ends is the one to tell.
    }
  };
  /** @returns the file that its path no longer leads to. */
  const goneFile = (): string | undefined =>
    inodeOf(path) === inode ? beside.find((one) => one.inode !== inodeOf(one.file))?.file : path;

  const timer = setInterval(() => {
    let walBytes = 0;
    let gone: string | undefined;
    try {
      gone = goneFile();
      walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (walBytes >= MIN_WAL_BYTES) keepShort(walBytes);
    } catch (error) {
      tell({ type: 'failed', walBytes, message: error instanceof Error ? error.message : String(error) });
    }
    if (gone !== undefined) {
      // A deleted log is still open here: its content is saved into the database.
      if (gone !== path) {
        catchUp();
        saveEventLog();
      }
      // Any later commit would be lost with the process. This ends the thread, and with it the process.
      throw new Error(
        `another program deleted, moved or replaced ${gone} while the mirror had it open: do so only while the mirror is stopped`,
      );
    }
    const unwritten = keeper.keep();
    if (unwritten !== null) tell(unwritten);
  }, EVERY_MS);

  const glances = setInterval(() => {
    try {
      const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (walBytes >= FLOOD_WAL_BYTES && walBytes < LONG_WAL_BYTES) keepShort(walBytes);
    } catch {
      // The next check, a moment later, meets the same fault and reports it.
    }
  }, GLANCE_MS);

  owner.onMessage(() => {
    clearInterval(timer);
    clearInterval(glances);
    db.close();
    logDb.close();
    owner.close();
  });
}

main();
