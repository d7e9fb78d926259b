/** Drafts of snapshots beside the mirror, which a kill may leave behind. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** For whoever holds the lock of the mirror: nobody else makes any. */
export function removeLeftSnapshots(databasePath: string): void {
  const folder = dirname(databasePath);
  const name = `.${basename(databasePath)}.snapshot`;
  for (const file of readdirSync(folder)) {
    // The drafts of a copy have its name with one more dot before it.
    if (file.startsWith(name) || file.startsWith(`.${name}`)) rmSync(join(folder, file), { force: true });
  }
}
