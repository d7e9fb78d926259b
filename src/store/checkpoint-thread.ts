/**
 * Moves the write-ahead log into the database file, off the path of any answer: passive, so that neither the writer
 * nor a reader ever waits for it. A reader that holds the log back for long is named to the main thread.
 */
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

export interface CheckpointNews {
  readonly type: 'held_back' | 'failed';
  readonly walBytes: number;
  readonly message: string;
}

const EVERY_MS = 1_000;
/** Below this a checkpoint is not worth its writes. */
const MIN_WAL_BYTES = 1 << 20;
/** A log this long that will not shrink is worth a person's attention, and again every so often. */
const LONG_WAL_BYTES = 256 << 20;
const NEWS_EVERY_MS = 60_000;

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

function main(): void {
  const port = parentPort;
  if (port === null) throw new Error('checkpoint-thread.ts runs as a worker only');
  const { path } = workerData as { path: string };
  const db = new Database(path, { fileMustExist: true, timeout: 100 });
  let nextNewsAtMs = 0;
  const tell = (news: CheckpointNews): void => {
    if (performance.now() < nextNewsAtMs) return;
    nextNewsAtMs = performance.now() + NEWS_EVERY_MS;
    port.postMessage(news);
  };

  const timer = setInterval(() => {
    const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (walBytes < MIN_WAL_BYTES) return;
    try {
      const [row] = db.pragma('wal_checkpoint(PASSIVE)') as CheckpointRow[];
      if (row !== undefined && row.checkpointed < row.log && walBytes > LONG_WAL_BYTES) {
        const message = `a reader holds ${row.log - row.checkpointed} pages of the write-ahead log back: end its transaction`;
        tell({ type: 'held_back', walBytes, message });
      }
    } catch (error) {
      tell({ type: 'failed', walBytes, message: error instanceof Error ? error.message : String(error) });
    }
  }, EVERY_MS);

  port.on('message', () => {
    clearInterval(timer);
    db.close();
    port.close();
  });
}

main();
