import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The path behind symbolic links, also of a file that does not exist yet. */
export function linksFollowed(path: string): string {
  try {
    if (existsSync(path)) return realpathSync(path);
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    const named = isLink ? resolve(dirname(path), readlinkSync(path)) : path;
    return join(realpathSync(dirname(named)), basename(named));
  } catch {
    return path;
  }
}
