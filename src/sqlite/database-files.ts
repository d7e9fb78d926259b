/** The files of a database: its own, and those that SQLite keeps beside it. */
import { chmodSync, rmSync, statSync } from 'node:fs';

/** Another database's would be taken for those of the one that is put in its place. */
const SIDES = ['-wal', '-shm', '-journal'] as const;

/** Nothing may have it open. */
export function removeDatabase(path: string): void {
  for (const side of ['', ...SIDES]) rmSync(path + side, { force: true });
}

/** Whoever could read or write the one can do the same with the other. Nothing happens where there is none to take them from. */
export function takePermissions(to: string, from: string): void {
  const found = statSync(from, { throwIfNoEntry: false });
  if (found !== undefined) chmodSync(to, found.mode & 0o777);
}
