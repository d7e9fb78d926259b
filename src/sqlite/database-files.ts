import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { linksFollowed } from '../platform/links-followed.ts';

/** SQLite would use those of an old database for the new one. */
const SIDES = ['-wal', '-shm', '-journal'] as const;

/** Only while nothing has it open. */
export function removeDatabase(path: string): void {
  rmSync(path, { force: true });
  removeSides(path);
}

/** Only while nothing has it open. */
export function removeSides(path: string): void {
  for (const side of SIDES) rmSync(path + side, { force: true });
}

/** Whether `path` names one of the databases or a file that belongs to one, under any name. */
export function isOneOf(databases: readonly string[], path: string): boolean {
  const own = databases.flatMap((database) =>
    ['', ...SIDES, '.lock', '.token', '.aside'].map((suffix) => linksFollowed(database) + suffix),
  );
  return own.includes(linksFollowed(path)) || databases.some((database) => isSameFile(database, path));
}

/** Refuses to overwrite the database's own files, and others unless `force`. @param from all of its databases. */
export function refuseTarget(
  from: readonly string[],
  to: string,
  { force }: { readonly force: boolean },
): void {
  if (!existsSync(dirname(to))) throw new Error(`the folder ${dirname(to)} does not exist: create it first`);
  if (isOneOf(from, to)) {
    throw new Error(`${to} belongs to the database that is read: name another file`);
  }
  if (statSync(to, { throwIfNoEntry: false })?.isFile() === false) {
    throw new Error(`${to} is a folder or a device: name a file`);
  }
  if (existsSync(to) && !force)
    throw new Error(`${to} exists: name another file, or replace it with --force`);
}

function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}
