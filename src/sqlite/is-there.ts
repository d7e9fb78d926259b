/** Whether a file exists, where "no" is not also the answer for a file that this user may not see. */
import { statSync } from 'node:fs';
import { StoreError } from './errors.ts';

/**
 * @throws StoreError `unreachable` where it cannot be known: this user may not look there, or a part of the path is a
 * file.
 */
export function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no code';
    if (code === 'ENOENT') return false;
    const remedy =
      code === 'EACCES'
        ? 'run this as the user who runs the mirror, or as a member of its group'
        : 'set DATABASE_PATH to a file that can be reached';
    throw new StoreError('unreachable', `${path} cannot be reached (${code}): ${remedy}.`, {
      cause: error,
    });
  }
}
