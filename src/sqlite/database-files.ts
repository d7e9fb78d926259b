/** The files of a database: its own, and those that SQLite keeps next to it. */
import { rmSync } from 'node:fs';

/** Another database's would be taken for those of the one that is put in its place. */
const SIDES = ['-wal', '-shm', '-journal'] as const;

/** Nothing may have it open. */
export function removeDatabase(path: string): void {
  for (const side of ['', ...SIDES]) rmSync(path + side, { force: true });
}
