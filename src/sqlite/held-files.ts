/** The files that a thread has open: another program has deleted, moved or replaced those that are at their paths no more. */
import { statSync } from 'node:fs';

export interface HeldFiles {
  /** @throws Error once one of them is gone: what its thread would commit from then on is lost with the process. */
  readonly check: () => void;
  /** Those that are still at their paths. */
  readonly left: () => string[];
}

/** @param paths of files that are open now, or will not be there at all. */
export function holdFiles(paths: readonly string[]): HeldFiles {
  const held = paths.map((path) => ({ path, inode: inodeOf(path) }));
  const isLeft = ({ path, inode }: (typeof held)[number]): boolean => inodeOf(path) === inode;
  return {
    check: () => {
      const gone = held.find((file) => !isLeft(file));
      if (gone === undefined) return;
      throw new Error(
        `another program deleted, moved or replaced ${gone.path} while the mirror had it open: do so only while the mirror is stopped`,
      );
    },
    left: () => held.filter((file) => file.inode !== undefined && isLeft(file)).map(({ path }) => path),
  };
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
