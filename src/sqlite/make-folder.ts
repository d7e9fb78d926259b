/** A folder and those above it, made one at a time. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Not `mkdirSync` with `recursive`: where a folder exists and refuses what is made in it with "no such file", as /proc
 * does, Node tries the two in turn for ever, in a loop that no signal interrupts.
 *
 * @param path absolute. @throws as `mkdirSync` does, of the folder that cannot be made.
 */
export function makeFolder(path: string): void {
  if (make(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  // Once more and not again: what is missing now is no folder above it.
  if (!make(path)) mkdirSync(path);
}

/** @returns false where the folder above it is missing. */
function make(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return false;
    if (code === 'EEXIST') return true;
    throw error;
  }
}
