/** Snapshots on this machine: made and fetched beside the mirror, on the disk that has the room. A kill may leave them. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { eventLogPath } from '../event-log/open-log.ts';
import { removeDatabase } from '../sqlite/database-files.ts';
import type { SnapshotFiles } from './transport.ts';

/** What each is for: they may be there at the same time. */
export type SnapshotName = 'snapshot' | 'snapshot-out' | 'snapshot-copied';

export function snapshotFiles(databasePath: string, name: SnapshotName): SnapshotFiles {
  const mirror = join(dirname(databasePath), `.${basename(databasePath)}.${name}.db`);
  return { mirror, log: eventLogPath(mirror) };
}

export function removeSnapshot({ mirror, log }: SnapshotFiles): void {
  removeDatabase(mirror);
  removeDatabase(log);
}

/** What a kill has left. For whoever holds the lock of the mirror: nobody else makes any. */
export function removeLeftSnapshots(databasePath: string): void {
  const folder = dirname(databasePath);
  const name = `.${basename(databasePath)}.snapshot`;
  for (const file of readdirSync(folder)) {
    // The drafts of a copy have its name with one more dot before it.
    if (file.startsWith(name) || file.startsWith(`.${name}`)) rmSync(join(folder, file), { force: true });
  }
}
