/** Where a path leads once every link on it is followed, also when its last parts do not exist yet. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/**
 * SQLite puts a database's write-ahead log beside the file that a link leads to, not beside the link. The files that
 * the mirror keeps beside the database must be found from there too, or two names of one file would count as two
 * databases.
 *
 * @param path absolute.
 * @returns the path itself where links form a circle or cannot be followed: opening it reports that.
 */
export function followLinks(path: string): string {
  return follow(path, MAX_LINKS) ?? path;
}

function follow(path: string, linksLeft: number): string | null {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isMissing(error) || linksLeft === 0) return null;
  }
  const folder = dirname(path);
  if (folder === path) return path;
  // First: the target of a link is relative to the folder where the link really is.
  const real = follow(folder, linksLeft);
  if (real === null) return null;
  const here = join(real, basename(path));
  const target = linkTarget(here);
  return target === null ? here : follow(resolve(real, target), linksLeft - 1);
}

/** @returns null when it is no link, or does not exist. */
function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
