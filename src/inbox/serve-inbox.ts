/** The inbox thread. Deliveries that arrive while a transaction is being synced form the next one. */
import { plainError, type PlainError } from '../sqlite/errors.ts';
import { explained } from '../sqlite/explain.ts';
import { holdFiles } from '../sqlite/held-files.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import type { Db } from '../sqlite/open.ts';
import type { Answering, Request } from '../sqlite/worker.ts';
import {
  Inbox,
  inboxPath,
  openInbox,
  readMetadata,
  type Arrival,
  type Heartbeat,
  type InboxMetadata,
  type PruneInbox,
} from './inbox.ts';

export type InboxCalls = {
  open: { args: undefined; result: InboxMetadata };
  /** All bodies are in one buffer, which is transferred. */
  append: { args: readonly Arrival[]; result: undefined };
  beat: { args: Heartbeat; result: undefined };
  beginEpoch: { args: { readonly epoch: string; readonly changeSeq: number }; result: undefined };
  unpublished: { args: number; result: ReturnType<Inbox['unpublished']> };
  prune: { args: PruneInbox; result: ReturnType<Inbox['prune']> };
  close: { args: undefined; result: undefined };
};

/** Posted after each transaction, before the replies to its callers. */
export interface InboxCommit {
  readonly lastSeq: number;
  readonly deliveries: number;
  readonly tookMs: number;
  readonly error: PlainError | null;
}

export interface OpenInbox {
  readonly db: Db;
  /** Called at each heartbeat. @throws Error when the files are gone: later appends would be lost. */
  readonly check: () => void;
  readonly close: () => void;
}

/** Enough to share an fsync, few enough to answer in time. */
const DELIVERIES_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 << 20;
/** Committed bytes between checkpoints, which run after the answers. */
const CHECKPOINT_BYTES = 16 << 20;
/** Pages that a transaction writes besides the bodies. */
const COMMIT_BYTES = 16 << 10;

/** @param databasePath of the mirror. @throws StoreError when another process has it, or it cannot be used. */
export function lockAndOpen(databasePath: string): OpenInbox {
  const path = inboxPath(databasePath);
  const lock = lockDatabase(path);
  try {
    const db = openInbox(path);
    // A deleted write-ahead log is still open: save its content into the file.
    const save = (): unknown => db.pragma('wal_checkpoint(PASSIVE)');
    const { check } = holdFiles([path, `${path}-wal`, `${path}-shm`, `${path}.lock`], save);
    return {
      db,
      check,
      close: () => {
        db.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

export function serveInbox(owner: Answering<InboxCalls, InboxCommit>, open: () => OpenInbox): void {
  let own: OpenInbox | null = null;
  let inbox: Inbox;
  let sinceCheckpointBytes = 0;

  const answer = (id: number, work: () => unknown): void => {
    try {
      owner.post({ id, value: work() });
    } catch (error) {
      owner.post({ id, error: plainError(explained(own?.db.name ?? 'the inbox', error)) });
    }
  };
  const commit = (ids: readonly number[], deliveries: number, work: () => void): void => {
    const startedMs = performance.now();
    let error: PlainError | null = null;
    try {
      work();
    } catch (cause) {
      error = plainError(explained(own?.db.name ?? 'the inbox', cause));
    }
    const tookMs = performance.now() - startedMs;
    owner.post({ event: { lastSeq: inbox.lastSeq, deliveries, tookMs, error } });
    for (const id of ids) owner.post(error === null ? { id, value: undefined } : { id, error });
  };
  const checkpoint = (committedBytes: number): void => {
    sinceCheckpointBytes += committedBytes;
    if (sinceCheckpointBytes < CHECKPOINT_BYTES) return;
    sinceCheckpointBytes = 0;
    try {
      own?.db.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The next commit reports the same fault.
    }
  };
  const serve = (request: Request<InboxCalls>): Request<InboxCalls> | undefined => {
    const { id, name, args } = request;
    switch (name) {
      case 'open':
        answer(id, () => {
          own = open();
          inbox = new Inbox(own.db);
          return readMetadata(own.db);
        });
        if (own === null) owner.close();
        break;
      case 'beat':
      case 'append': {
        // A heartbeat joins the deliveries that wait: with slow syncs, a commit of its own would delay them too long.
        const ids: number[] = [];
        const arrivals: Arrival[] = [];
        let heartbeat: Heartbeat | null = null;
        let bytes = COMMIT_BYTES;
        let next: Request<InboxCalls> | undefined = request;
        while (next !== undefined && arrivals.length < DELIVERIES_AT_ONCE && bytes < BYTES_AT_ONCE) {
          if (next.name === 'beat') {
            own?.check();
            heartbeat = next.args;
          } else if (next.name === 'append') {
            arrivals.push(...next.args);
            for (const { body } of next.args) bytes += body.byteLength;
          } else break;
          ids.push(next.id);
          next = owner.take();
        }
        commit(ids, arrivals.length, () => inbox.append(arrivals, heartbeat));
        checkpoint(bytes);
        return next;
      }
      case 'beginEpoch':
        answer(id, () => inbox.beginEpoch(args.epoch, args.changeSeq));
        break;
      case 'unpublished':
        answer(id, () => inbox.unpublished(args));
        break;
      case 'prune':
        answer(id, () => inbox.prune(args));
        checkpoint(CHECKPOINT_BYTES);
        break;
      case 'close':
        answer(id, () => own?.close());
        owner.close();
    }
    return owner.take();
  };
  owner.onMessage((request) => {
    for (let next: typeof request | undefined = request; next !== undefined;) next = serve(next);
  });
}
