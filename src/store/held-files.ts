/** The files that a thread has open: a path that no longer leads to one of them is another program's doing. */
import { statSync } from 'node:fs';

export class HeldFiles {
  readonly #files: readonly { readonly path: string; readonly inode: bigint | undefined }[];

  /** @param paths of files that are open now, or will not be there at all. */
  constructor(paths: readonly string[]) {
    this.#files = paths.map((path) => ({ path, inode: inodeOf(path) }));
  }

  /** @returns one that was deleted, moved or replaced since; undefined: none. */
  missing(): string | undefined {
    return this.#files.find(({ path, inode }) => inodeOf(path) !== inode)?.path;
  }
}

/** Why a thread cannot go on: what it would commit from here on is lost with the process. */
export function goneError(path: string): Error {
  return new Error(
    `another program deleted, moved or replaced ${path} while the mirror had it open: do so only while the mirror is stopped`,
  );
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
