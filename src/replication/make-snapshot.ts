/** A copy of the mirror and of its event log, as of now, for others to begin from. */
import { basename, dirname, join } from 'node:path';
import { rmSync } from 'node:fs';
import { eventLogPath } from '../event-log/open-log.ts';
import { startThread, type Thread } from '../platform/thread.ts';
import type { SnapshotFiles } from './transport.ts';

export type ToSnapshot = { readonly type: 'make'; readonly to: string } | { readonly type: 'interrupt' };

export type FromSnapshot =
  | { readonly type: 'made'; readonly isWhole: boolean }
  | { readonly type: 'failed'; readonly problem: string };

export interface MadeSnapshot extends SnapshotFiles {
  /** When nobody reads it any more. */
  remove(): void;
}

const SUFFIXES = ['', '-wal', '-shm', '-journal'];

/**
 * In the folder of the mirror, which has the room for it.
 *
 * @param name tells it from others that are made at the same time. @returns null when aborted. @throws Error
 */
export async function makeSnapshot(
  databasePath: string,
  name: string,
  signal: AbortSignal,
): Promise<MadeSnapshot | null> {
  const mirror = join(dirname(databasePath), `.${basename(databasePath)}.${name}.db`);
  const log = eventLogPath(mirror);
  const remove = (): void => {
    for (const path of [mirror, log]) for (const suffix of SUFFIXES) rmSync(path + suffix, { force: true });
  };
  // What a kill left.
  remove();
  const thread: Thread<ToSnapshot, FromSnapshot> = startThread(
    'replication/snapshot-thread',
    databasePath,
    6,
  );
  const interrupt = (): void => thread.post({ type: 'interrupt' });
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    const made = await new Promise<FromSnapshot>((resolve, reject) => {
      thread.onMessage(resolve);
      thread.onEnd(reject);
      thread.post({ type: 'make', to: mirror });
      if (signal.aborted) interrupt();
    });
    if (made.type === 'failed') throw new Error(made.problem);
    return made.isWhole ? { mirror, log, remove } : null;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}
