import { rmSync } from 'node:fs';

/** SQLite would use those of an old database for the new one. */
const SIDES = ['-wal', '-shm', '-journal'] as const;

/** Only while nothing has it open. */
export function removeDatabase(path: string): void {
  for (const side of ['', ...SIDES]) rmSync(path + side, { force: true });
}
