import { statSync } from 'node:fs';
import { SqliteFault } from './errors.ts';
import type { Db } from './open.ts';

/**
 * SQLite refuses a file that lacks whole pages, but it takes one that ends within a page and reads the rest of that page
 * as zeros. Its integrity check does not see this in the text of a row.
 * @param db connection without a transaction, or a read-only one.
 * @throws SqliteFault
 */
export function refuseCutFile(db: Db): void {
  const pageBytes = db.pragma('page_size', { simple: true }) as number;
  if (sizeOf(db.name) % pageBytes === 0) return;
  // A loss of power can cut a page that a checkpoint was adding: the write-ahead log still has all of it.
  if (isLogLeft(db)) return;
  const bytes = sizeOf(db.name);
  const wholeBytes = pageBytes * (db.pragma('page_count', { simple: true }) as number);
  if (bytes >= wholeBytes) return;
  throw new SqliteFault(
    'damaged',
    `${db.name} is damaged: it ends after ${bytes} of ${wholeBytes} bytes: move the file away, or use another copy.`,
  );
}

/** The write-ahead log may hold pages that are not in the file: a reader keeps it, or this connection cannot write. */
function isLogLeft(db: Db): boolean {
  if (db.readonly) return sizeOf(`${db.name}-wal`) > 0;
  const [done] = db.pragma('wal_checkpoint(PASSIVE)') as {
    readonly log: number;
    readonly checkpointed: number;
  }[];
  return done !== undefined && done.checkpointed < done.log;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
