import { statSync } from 'node:fs';

export interface HeldFiles {
  /** @throws Error once a file is gone: later commits would be lost. */
  readonly check: () => void;
  /** The paths at which the held files still are. */
  readonly left: () => string[];
}

/**
 * @param paths files that are open now or are opened next, or will not exist.
 * @param save what still can be saved once one is gone.
 */
export function holdFiles(paths: readonly string[], save: () => void = () => undefined): HeldFiles {
  const held = paths.map((path) => ({ path, inode: inodeOf(path) }));
  const isLeft = ({ path, inode }: (typeof held)[number]): boolean => inodeOf(path) === inode;
  return {
    check: () => {
      const gone = held.find((file) => !isLeft(file));
      if (gone === undefined) return;
      save();
      throw new Error(
        `another program deleted, moved or replaced ${gone.path} while the mirror had it open: ` +
          'do so only while the mirror is stopped',
      );
    },
    left: () => held.filter((file) => file.inode !== undefined && isLeft(file)).map(({ path }) => path),
  };
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
