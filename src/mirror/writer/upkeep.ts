/** The projection's thread looks after the mirror's files about once a second (docs/architecture.md#checkpoints). */
import { statSync } from 'node:fs';
import { holdFiles } from '../../sqlite/held-files.ts';
import type { Db } from '../../sqlite/open.ts';

/** Worth a person's attention. */
export interface WalNews {
  readonly type: 'held_back';
  readonly walBytes: number;
  readonly message: string;
}

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
  readonly #checkFiles: () => void;
  #nextNewsAtMs = 0;

  /** @param db the connection that writes the mirror, after its first statement. */
  constructor(db: Db, path: string) {
    this.#db = db;
    this.#path = path;
    this.#checkFiles = holdFiles([path, `${path}-wal`, `${path}-shm`]);
  }

  /** @returns what a person should know. @throws Error when one of the files is gone. */
  look(): readonly WalNews[] {
    this.#checkFiles();
    const news = this.#heldBack();
    const nowMs = performance.now();
    if (news === null || nowMs < this.#nextNewsAtMs) return [];
    this.#nextNewsAtMs = nowMs + NEWS_EVERY_MS;
    return [news];
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
