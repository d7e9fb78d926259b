import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Resolves symbolic links, also for a file that does not exist yet. */
export function linksFollowed(path: string): string {
  try {
    const place = join(realpathSync(dirname(path)), basename(path));
    const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? linksFollowed(resolve(dirname(place), readlinkSync(place))) : place;
  } catch {
    return path;
  }
}
