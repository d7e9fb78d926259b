/**
 * Whether the file at the database's path continues the history that was served from there
 * (docs/architecture.md#epoch). If it does not, the same numbers would be given out a second time with another
 * meaning: so a new epoch begins, its numbers are above all that were given out, and everything is read again.
 */
import { randomBytes } from 'node:crypto';
import { findFile, isAnotherFile, type FileIdentity, type FoundFile } from './file-identity.ts';
import { MarkKeeper, markNews, type MarkNews, type Position } from './mark.ts';
import type { Db } from './open.ts';
import { readMark, type FoundMark } from './read-mark.ts';
import { lastLife } from './queries/status.ts';
import { Writer, type Input } from './writer.ts';

/** Worth a person's attention. */
export type HistoryNews = MarkNews | EpochNews;

export interface EpochNews {
  readonly type: 'new_epoch';
  readonly message: string;
  readonly why: string;
  readonly epoch: string;
  readonly epochBefore: string;
  /** The new epoch's numbers are above this one. */
  readonly lastSeq: number;
}

interface Recorded extends Position {
  /** The file in which the epoch began; null before the first start. */
  readonly file: FileIdentity | null;
}

/** @returns why the history has restarted; null when it continues. */
export function whyRestarted(recorded: Recorded, found: FoundFile, mark: FoundMark | null): string | null {
  if (recorded.file !== null && isAnotherFile(recorded.file, found)) {
    return 'the database is another file than the one served before';
  }
  // No proof of anything: the mark could not be written, or was deleted, and the file is the same one.
  if (mark === null) return null;
  // Across epochs too: each begins above the one before, so a mark of the earlier one is never ahead of it.
  if (recorded.changeSeq < mark.changeSeq) return 'the database is older than what was served from it';
  if (recorded.epoch !== mark.epoch) return null;
  // The event log continues without a gap in a new epoch, so its numbers compare within one epoch only.
  if (recorded.logSeq < mark.logSeq) return 'the database is older than what was served from it';
  const markFile = { ...mark.foundFile, isBirthKnown: found.isBirthKnown };
  if (isAnotherFile(mark.file, markFile)) return 'database and high-water mark were copied together';
  return null;
}

/**
 * To be called by the only writer before anything else is written.
 *
 * @returns what a person should know. A mark that cannot be read or written is no reason not to start.
 * @throws StoreError when the new epoch cannot be committed.
 */
export function takeUpHistory(db: Db, path: string, nowMs: number): HistoryNews[] {
  const news: HistoryNews[] = [];
  const keeper = new MarkKeeper(db, path);
  const recorded = { ...keeper.position(), file: recordedFile(db) };
  const found = findFile(path);
  let mark = null;
  try {
    mark = readMark(path);
  } catch (error) {
    news.push(markNews('cannot be read', path, error));
  }

  const why = whyRestarted(recorded, found, mark);
  if (why !== null) {
    const epoch = randomBytes(8).toString('hex');
    beginEpoch(db, { epoch, file: found, givenOutSeq: mark?.changeSeq ?? 0, nowMs });
    news.push({
      type: 'new_epoch',
      message:
        'a new epoch has begun: consumers of the change feed start over, and every product is read again; until then its rows are suspect',
      why,
      epoch,
      epochBefore: recorded.epoch,
      lastSeq: keeper.position().changeSeq,
    });
  } else if (recorded.file === null) {
    commit(db, [{ kind: 'command', name: 'recordFile', args: found }]);
  }

  const unwritten = keeper.keep();
  if (unwritten !== null) news.push(unwritten);
  return news;
}

interface NewEpoch {
  readonly epoch: string;
  readonly file: FileIdentity;
  readonly givenOutSeq: number;
  readonly nowMs: number;
}

function beginEpoch(db: Db, { epoch, file, givenOutSeq, nowMs }: NewEpoch): void {
  const { aliveAtMs, lastLogAtMs } = lastLife(db);
  // The clock may have been set back since: the epoch must not begin later than any recorded time.
  const atMs = Math.max(nowMs, aliveAtMs ?? 0, lastLogAtMs ?? 0);
  commit(db, [
    { kind: 'entry', entry: { kind: 'epoch', atMs, givenOutSeq } },
    { kind: 'command', name: 'beginEpoch', args: { epoch, file, atMs } },
  ]);
}

function commit(db: Db, inputs: readonly Input[]): void {
  for (const result of new Writer(db).commit(inputs)) if (!result.ok) throw result.error;
}

function recordedFile(db: Db): FileIdentity | null {
  const row = db
    .prepare<[], { inode: string | null; bornAtMs: number | null }>(
      'SELECT file_inode AS inode, file_born_at_ms AS bornAtMs FROM service_state',
    )
    .get();
  return row === undefined || row.inode === null ? null : { inode: row.inode, bornAtMs: row.bornAtMs ?? 0 };
}
