/**
 * The high-water mark: a small file beside the database that says how far the numbers of its history have been given
 * out, so that an older copy restored over the database is noticed. It is written after the commits that it covers
 * and may lag behind them, but is never ahead: it needs no fsync.
 */
import { closeSync, fstatSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { findFile, type FileIdentity, type FoundFile } from '../sqlite/file-identity.ts';
import { positionIn } from './mirror-position.ts';
import type { Db } from '../sqlite/open.ts';
import { messageOf } from '../platform/thrown.ts';

export interface Position {
  readonly epoch: string;
  /** The last number of the change feed, and the last entry of the event log that the mirror has applied. */
  readonly changeSeq: number;
  readonly logSeq: number;
}

interface HighWaterMark extends Position {
  /**
   * The identity of the mark's own file when it was written: if it is another now, the mark is a copy out of a
   * backup.
   */
  readonly file: FileIdentity;
}

export interface FoundHighWaterMark extends HighWaterMark {
  readonly foundFile: FoundFile;
}

/** No reason not to start: the mark is one of two proofs. */
export interface HighWaterMarkNews {
  readonly type: 'mark_failed';
  readonly message: string;
  readonly path: string;
  readonly problem: string;
}

export function highWaterMarkPath(databasePath: string): string {
  return `${databasePath}.mark`;
}

export function highWaterMarkNews(
  what: 'cannot be read' | 'cannot be written',
  path: string,
  error: unknown,
): HighWaterMarkNews {
  return {
    type: 'mark_failed',
    message: `the high-water mark beside the database ${what}: meanwhile an older copy restored over the database would go unnoticed; check the permissions and the disk of that folder`,
    path: highWaterMarkPath(path),
    problem: messageOf(error),
  };
}

/** @returns null when there is none. @throws Error when it cannot be read, or is not a mark. */
export function readHighWaterMark(databasePath: string): FoundHighWaterMark | null {
  const path = highWaterMarkPath(databasePath);
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const mark = highWaterMarkOf(text);
  if (mark === null) throw new Error(`${path} is damaged`);
  return { ...mark, foundFile: findFile(path) };
}

function highWaterMarkOf(text: string): HighWaterMark | null {
  let found;
  try {
    found = JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
  if (typeof found !== 'object' || found?.['version'] !== 1) return null;
  const { epoch, changeSeq, logSeq, file } = found;
  const { inode, bornAtMs } = (file ?? {}) as Record<string, unknown>;
  if (typeof epoch !== 'string' || typeof inode !== 'string' || typeof bornAtMs !== 'number') return null;
  if (!isPosition(changeSeq) || !isPosition(logSeq)) return null;
  return { epoch, changeSeq, logSeq, file: { inode, bornAtMs } };
}

function isPosition(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A concurrent reader sees the old mark or the new one. */
function writeHighWaterMark(databasePath: string, position: Position): void {
  const path = highWaterMarkPath(databasePath);
  const draft = `${path}.new`;
  const descriptor = openSync(draft, 'w');
  try {
    const { ino, birthtimeMs } = fstatSync(descriptor, { bigint: true });
    const file: FileIdentity = { inode: String(ino), bornAtMs: Number(birthtimeMs) };
    writeSync(descriptor, `${JSON.stringify({ version: 1, ...position, file })}\n`);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, path);
}

export class HighWaterMarkKeeper {
  readonly #databasePath: string;
  readonly #position: () => Position;
  /** What was found at first; undefined: not looked for yet. */
  #found: Position | null | undefined;
  #written: Position | null = null;

  /** @param db any connection to the mirror. */
  constructor(db: Db, databasePath: string) {
    this.#databasePath = databasePath;
    this.#position = () => {
      const { epoch, changeSeq, appliedSeq } = positionIn(db);
      return { epoch, changeSeq, logSeq: appliedSeq };
    };
  }

  /** One that cannot be read is told of at the start, and written anew. */
  #find(): Position | null {
    try {
      return readHighWaterMark(this.#databasePath);
    } catch {
      return null;
    }
  }

  /** Writes the mark if it has moved. @returns why it could not, null otherwise; the next call tries again. */
  keep(): HighWaterMarkNews | null {
    try {
      const position = highest(this.#written ?? (this.#found ??= this.#find()), this.#position());
      if (this.#written !== null && isSame(this.#written, position)) return null;
      writeHighWaterMark(this.#databasePath, position);
      this.#written = position;
      return null;
    } catch (error) {
      return highWaterMarkNews('cannot be written', this.#databasePath, error);
    }
  }
}

/**
 * An older mirror that is made whole from the event log stands lower for a while: the mark stays where it was, or an older
 * event log restored meanwhile would seem to continue. Each epoch begins above the numbers of the one before.
 */
function highest(mark: Position | null, mirror: Position): Position {
  if (mark === null) return mirror;
  if (mark.epoch !== mirror.epoch) return mirror.changeSeq > mark.changeSeq ? mirror : mark;
  return {
    epoch: mirror.epoch,
    changeSeq: Math.max(mark.changeSeq, mirror.changeSeq),
    logSeq: Math.max(mark.logSeq, mirror.logSeq),
  };
}

function isSame(a: Position, b: Position): boolean {
  return a.epoch === b.epoch && a.changeSeq === b.changeSeq && a.logSeq === b.logSeq;
}
