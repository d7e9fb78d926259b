/** Copies of the mirror and of its event log, as of now, for others to begin from; made and checked on a thread of their own. */
import { basename, dirname, join } from 'node:path';
import { rmSync } from 'node:fs';
import { eventLogPath } from '../event-log/open-log.ts';
import { startThread, type Thread } from '../platform/thread.ts';
import { TransportError, type SnapshotFiles } from './transport.ts';

export type ToSnapshot =
  | { readonly type: 'make'; readonly to: string }
  | { readonly type: 'check'; readonly files: SnapshotFiles; readonly origin: string }
  | { readonly type: 'interrupt' };

export type FromSnapshot =
  | { readonly type: 'made'; readonly isWhole: boolean }
  | { readonly type: 'checked'; readonly unusable: string | null }
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
  const made = await askThread(databasePath, { type: 'make', to: mirror }, signal);
  return made.type === 'made' && made.isWhole ? { mirror, log, remove } : null;
}

/** Says in it that it is a copy. @param origin what of. @throws TransportError when it cannot be used. */
export async function checkSnapshot(
  files: SnapshotFiles,
  origin: string,
  signal: AbortSignal,
): Promise<void> {
  const checked = await askThread(files.mirror, { type: 'check', files, origin }, signal);
  if (checked.type !== 'checked' || checked.unusable === null) return;
  throw new TransportError(`the snapshot cannot be used: ${checked.unusable}; it is fetched again`);
}

async function askThread(
  path: string,
  asked: ToSnapshot,
  signal: AbortSignal,
): Promise<Exclude<FromSnapshot, { type: 'failed' }>> {
  const thread: Thread<ToSnapshot, FromSnapshot> = startThread('replication/snapshot-thread', path, 6);
  const interrupt = (): void => thread.post({ type: 'interrupt' });
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    const answer = await new Promise<FromSnapshot>((resolve, reject) => {
      thread.onMessage(resolve);
      thread.onEnd(reject);
      thread.post(asked);
      if (signal.aborted) interrupt();
    });
    if (answer.type === 'failed') throw new Error(answer.problem);
    return answer;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}
