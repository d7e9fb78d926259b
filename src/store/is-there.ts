/** Whether a file is there, where "no" is not also said of what this user may not see. */
import { statSync } from 'node:fs';
import { StoreError } from './errors.ts';

/** @throws StoreError `unreachable` where nobody can tell: this user may not look there, or the way leads through a file. */
export function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no code';
    if (code === 'ENOENT') return false;
    const remedy =
      code === 'EACCES'
        ? 'run this as the user of the service, or as a member of its group'
        : 'set DATABASE_PATH to a file that can be reached';
    throw new StoreError('unreachable', `${path} cannot be looked at (${code}): ${remedy}.`, {
      cause: error,
    });
  }
}
