/**
 * What the projection's thread does besides applying, about once a second: it keeps the high-water mark, and looks
 * after the mirror's files (docs/architecture.md#checkpoints).
 */
import { statSync } from 'node:fs';
import type { HistoryNews } from '../../event-log/epoch.ts';
import { goneError, HeldFiles } from '../../sqlite/held-files.ts';
import { HighWaterMarkKeeper } from '../../event-log/high-water-mark.ts';
import type { Db } from '../../sqlite/open.ts';

interface WalNews {
  readonly type: 'held_back';
  readonly walBytes: number;
  readonly message: string;
}

/** Worth a person's attention. */
export type StoreNews = HistoryNews | WalNews;

/** A write-ahead log this long that a reader holds deserves a person's attention, and again every so often. */
const LONG_WAL_BYTES = 256 << 20;
const NEWS_EVERY_MS = 60_000;

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

export class Upkeep {
  readonly #db: Db;
  readonly #path: string;
  readonly #highWaterMark: HighWaterMarkKeeper;
  readonly #files: HeldFiles;
  readonly #nextAtMs = new Map<StoreNews['type'], number>();

  /** @param db the connection that writes the mirror, after its first statement. */
  constructor(db: Db, path: string) {
    this.#db = db;
    this.#path = path;
    this.#highWaterMark = new HighWaterMarkKeeper(db, path);
    this.#files = new HeldFiles([path, `${path}-wal`, `${path}-shm`]);
  }

  /** @returns what a person should know. @throws Error when one of the files is gone. */
  look(): readonly StoreNews[] {
    const gone = this.#files.missing();
    if (gone !== undefined) throw goneError(gone);
    const nowMs = performance.now();
    return [this.#highWaterMark.keep(), this.#heldBack()]
      .filter((news) => news !== null)
      .filter(({ type }) => {
        if (nowMs < (this.#nextAtMs.get(type) ?? 0)) return false;
        this.#nextAtMs.set(type, nowMs + NEWS_EVERY_MS);
        return true;
      });
  }

  /** After the last commit. */
  finish(): readonly StoreNews[] {
    const unwritten = this.#highWaterMark.keep();
    return unwritten === null ? [] : [unwritten];
  }

  /** After the connection is closed. */
  closed(): void {
    this.#files.removeLeftOver();
  }

  #heldBack(): WalNews | null {
    const walBytes = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (walBytes < LONG_WAL_BYTES) return null;
    const [row] = this.#db.pragma('wal_checkpoint(PASSIVE)') as CheckpointRow[];
    const heldPages = row === undefined ? 0 : row.log - row.checkpointed;
    if (heldPages <= 0) return null;
    const message = `another program's read transaction keeps ${heldPages} pages in the write-ahead log, which grows until it ends: end that transaction (\`stock-mirror doctor\` names the process)`;
    return { type: 'held_back', walBytes, message };
  }
}
