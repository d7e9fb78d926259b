/** Copies of the mirror and of its event log, as of now, for others to begin from; made and checked on a thread of their own. */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { eventLogPath } from '../event-log/open-log.ts';
import { startThread, type Thread } from '../platform/thread.ts';
import { StoreError } from '../sqlite/errors.ts';
import { removeSnapshot, snapshotFiles, type SnapshotName } from './snapshot-files.ts';
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

/** What stays free for the mirror itself meanwhile: a copy must not be what stops it. */
const RESERVE_BYTES = 64 << 20;

/**
 * In the folder of the mirror, if that has the room for it.
 *
 * @param name tells it from others that are made at the same time. @returns null when aborted. @throws StoreError
 * `no_room`, Error
 */
export async function makeSnapshot(
  databasePath: string,
  name: SnapshotName,
  signal: AbortSignal,
): Promise<MadeSnapshot | null> {
  const files = snapshotFiles(databasePath, name);
  const remove = (): void => removeSnapshot(files);
  // What a kill left.
  remove();
  refuseWithoutRoom(databasePath);
  const made = await askThread(databasePath, { type: 'make', to: files.mirror }, signal);
  return made.type === 'made' && made.isWhole ? { ...files, remove } : null;
}

/** @throws StoreError `no_room` */
function refuseWithoutRoom(databasePath: string): void {
  const folder = dirname(databasePath);
  const parts = [databasePath, eventLogPath(databasePath)].flatMap((path) => [path, `${path}-wal`]);
  const neededBytes = parts.reduce((sum, path) => sum + sizeOf(path), RESERVE_BYTES);
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  throw new StoreError(
    'no_room',
    `a copy of mirror and event log needs ${megabytes(neededBytes)} in ${folder}, and ${megabytes(freeBytes)} are free: free disk space there.`,
  );
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
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
