/** The files that a thread has open: a path that no longer leads to one of them is another program's doing. */
import { rmSync, statSync } from 'node:fs';

interface HeldFile {
  readonly path: string;
  readonly inode: bigint | undefined;
}

export class HeldFiles {
  readonly #files: readonly HeldFile[];

  /** @param paths of files that are open now, or will not be there at all. */
  constructor(paths: readonly string[]) {
    this.#files = paths.map((path) => ({ path, inode: inodeOf(path) }));
  }

  /** @returns one that was deleted, moved or replaced since; undefined: none. */
  missing(): string | undefined {
    return this.#files.find(isMissing)?.path;
  }

  /**
   * To be called when they are closed. Where the first of them, the database, is gone, what is left of those beside it
   * would be taken for that of whatever is at its path now.
   */
  removeLeftOver(): void {
    const [database, ...beside] = this.#files;
    if (database === undefined || !isMissing(database)) return;
    for (const file of beside) if (!isMissing(file)) rmSync(file.path, { force: true });
  }
}

function isMissing({ path, inode }: HeldFile): boolean {
  return inodeOf(path) !== inode;
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
