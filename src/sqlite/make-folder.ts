/** A folder and those above it, made one at a time. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Not `mkdirSync` with `recursive`: where a folder refuses with "no such file" what is made in it, as /proc does, Node
 * loops for ever.
 *
 * @param path absolute.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another thread may have made it.
    if (!existsSync(path)) throw error;
  }
}
