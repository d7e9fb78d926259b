/** The files that a thread has open: another program has deleted, moved or replaced those that are at their paths no more. */
import { statSync } from 'node:fs';

/**
 * @param paths of files that are open now, or will not be there at all.
 * @returns what throws once one of them is gone: what its thread would commit from then on is lost with the process.
 */
export function holdFiles(paths: readonly string[]): () => void {
  const held = paths.map((path) => ({ path, inode: inodeOf(path) }));
  return () => {
    const gone = held.find(({ path, inode }) => inodeOf(path) !== inode);
    if (gone === undefined) return;
    throw new Error(
      `another program deleted, moved or replaced ${gone.path} while the mirror had it open: do so only while the mirror is stopped`,
    );
  };
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
