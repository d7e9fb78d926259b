/** What was written to a file, or a folder's entries, on disk when it returns. */
import { closeSync, fsyncSync, openSync } from 'node:fs';

export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
