import { chmodSync, chownSync } from 'node:fs';
import { messageOf } from './thrown.ts';

interface Access {
  /** The permission bits. */
  readonly mode: number;
  /** undefined: as it is. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Sets owner and mode as far as possible: a file of another user that this one's group may write, and a file on a file
 * system without them, stay as they are, with a warning.
 */
export function setAccess(path: string, { mode, owner }: Access): void {
  if (owner !== undefined) attempt(path, () => chownSync(path, owner.uid, owner.gid));
  attempt(path, () => chmodSync(path, mode));
}

const NOT_POSSIBLE = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL']);

function attempt(path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && NOT_POSSIBLE.has(String(error.code)))) throw error;
    process.emitWarning(`${path} keeps its owner and permissions: ${messageOf(error)}`);
  }
}
