import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** `mkdirSync` with `recursive` loops forever in a folder that refuses entries with "no such file", as /proc. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another thread may have created it.
    if (!existsSync(path)) throw error;
  }
}
