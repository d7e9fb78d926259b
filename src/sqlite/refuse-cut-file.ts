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
  if (db.readonly && sizeOf(`${db.name}-wal`) > 0) return;
  if (!db.readonly) db.pragma('wal_checkpoint(PASSIVE)');
  const bytes = sizeOf(db.name);
  const wholeBytes = pageBytes * (db.pragma('page_count', { simple: true }) as number);
  if (bytes >= wholeBytes) return;
  throw new SqliteFault(
    'damaged',
    `${db.name} is damaged: it ends after ${bytes} of ${wholeBytes} bytes: move the file away, or use another copy.`,
  );
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
