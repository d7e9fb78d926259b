import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Not `mkdirSync` with `recursive`: Node loops forever where a folder refuses new entries with "no such file", as /proc
 * does. @param path absolute.
 */
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
