import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { linksFollowed } from '../platform/links-followed.ts';

/** SQLite would use those of an old database for the new one. */
const SIDES = ['-wal', '-shm', '-journal'] as const;

/** Suffixes of the other files of a database. */
const SUFFIXES = {
  /** Held by the process that writes the database. */
  lock: '.lock',
  numbers: '.numbers',
  /** Removals that operators have decided. */
  decisions: '.decisions',
  token: '.token',
  /** An unusable database that a start moved away; only the newest is kept. */
  aside: '.aside',
  /** A file that is not yet complete, of a database or of another one of these. */
  unfinished: '.new',
} as const;

/** The path of a file of the database at `path`: the only source of these names. */
export function ownFile(path: string, name: keyof typeof SUFFIXES): string {
  return path + SUFFIXES[name];
}

/** All files that this program may write for the database at `path`. */
function ownFiles(path: string): string[] {
  const databases = [path, ownFile(path, 'aside'), ownFile(path, 'unfinished')];
  const sides = databases.flatMap((database) => SIDES.map((side) => database + side));
  const others = (['lock', 'numbers', 'decisions', 'token'] as const).map((name) => ownFile(path, name));
  const complete = [...databases, ...sides, ...others];
  return [...complete, ...complete.map((file) => ownFile(file, 'unfinished'))];
}

/** Only while nothing has it open. */
export function removeDatabase(path: string): void {
  rmSync(path, { force: true });
  removeSides(path);
}

/** Only while nothing has it open. */
export function removeSides(path: string): void {
  for (const side of SIDES) rmSync(path + side, { force: true });
}

/** Makes way for a new file: this one cannot be used, and replaces an earlier one. Only while nothing writes to it. */
export function moveAside(path: string): string {
  const to = ownFile(path, 'aside');
  removeDatabase(to);
  renameSync(path, to);
  removeSides(path);
  return to;
}

/** Whether `path` names one of the databases or a file that belongs to one, under any name. */
export function isOneOf(databases: readonly string[], path: string): boolean {
  const own = databases.flatMap((database) => ownFiles(linksFollowed(database)));
  return own.includes(linksFollowed(path)) || own.some((file) => isSameFile(file, path));
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
