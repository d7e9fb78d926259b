import { statSync } from 'node:fs';

export interface HeldFiles {
  /** @throws Error once a file is gone: later commits would be lost. */
  readonly check: () => void;
  /** The paths at which the held files still are. */
  readonly left: () => string[];
}

interface HoldOptions {
  /** Saves what still can be saved once a file is gone. */
  readonly save?: () => void;
  /** Completes the error, which begins with the path. */
  readonly wasGone?: string;
}

/** @param paths files that are open now or are opened next, or will not exist. */
export function holdFiles(paths: readonly string[], options: HoldOptions = {}): HeldFiles {
  const {
    save,
    wasGone = 'was deleted, moved or replaced by another program while it was open: do so only while the mirror is stopped',
  } = options;
  const held = paths.map((path) => ({ path, inode: inodeOf(path) }));
  const isLeft = ({ path, inode }: (typeof held)[number]): boolean => inodeOf(path) === inode;
  return {
    check: () => {
      const gone = held.find((file) => !isLeft(file));
      if (gone === undefined) return;
      save?.();
      throw new Error(`${gone.path} ${wasGone}`);
    },
    left: () => held.filter((file) => file.inode !== undefined && isLeft(file)).map(({ path }) => path),
  };
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
