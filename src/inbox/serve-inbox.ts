/**
 * The work of the inbox thread. Deliveries that queue while a transaction is being synced form the next one. The thread
 * does nothing else, so that an answer waits for nothing else.
 */
import type { PlainError } from '../sqlite/errors.ts';
import { plainError } from '../sqlite/errors.ts';
import { failureOf } from '../sqlite/explain.ts';
import { holdFiles } from '../sqlite/held-files.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import type { Db } from '../sqlite/open.ts';
import { answer, type Answering, type Request } from '../sqlite/worker.ts';
import {
  Inbox,
  inboxPath,
  openInbox,
  readMetadata,
  type Arrival,
  type Heartbeat,
  type InboxMetadata,
  type PruneInbox,
  type PrunedInbox,
} from './inbox.ts';

export type InboxCalls = {
  /** Deliveries that arrived together: their bodies one after the other, and where each ends. */
  append: {
    args: {
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly ends: readonly number[];
      readonly arrivedAtMs: readonly number[];
    };
    result: undefined;
  };
  beat: { args: Heartbeat; result: undefined };
  beginEpoch: { args: { readonly epoch: string; readonly changeSeq: number }; result: undefined };
  prune: { args: PruneInbox; result: PrunedInbox };
  close: { args: undefined; result: undefined };
};

export type InboxEvent =
  | { readonly type: 'opened'; readonly lastSeq: number; readonly metadata: InboxMetadata }
  | { readonly type: 'refused'; readonly error: PlainError }
  /** After each transaction of deliveries or of a heartbeat, before its callers get their replies. */
  | { readonly type: 'committed'; readonly lastSeq: number; readonly commit: InboxCommit };

export interface InboxCommit {
  readonly deliveries: number;
  readonly tookMs: number;
  /** null: every delivery is on disk. */
  readonly error: PlainError | null;
}

/** The inbox as the thread holds it. */
export interface OpenInbox {
  readonly db: Db;
  /** Called about once a second. @throws Error when the files are gone: what is appended then is lost. */
  readonly check: () => void;
  /** Closes the file and releases the lock of both databases. */
  readonly close: () => void;
}

type Appending = Extract<Request<InboxCalls>, { name: 'append' }>;

/** Enough to spread an fsync, small enough to answer in time. */
const DELIVERIES_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 << 20;
/** The write-ahead log is moved into the file, after the answers, whenever about this much was committed. */
const CHECKPOINT_BYTES = 16 << 20;
/** Pages that a transaction writes besides the bodies. */
const COMMIT_BYTES = 16 << 10;
const CHECK_EVERY_MS = 1_000;

/** @param databasePath of the mirror. @throws StoreError when another process has it, or it cannot be used. */
export function lockAndOpen(databasePath: string): OpenInbox {
  const path = inboxPath(databasePath);
  const lock = lockDatabase(path);
  try {
    const db = openInbox(path);
    const files = holdFiles([path, `${path}-wal`, `${path}-shm`]);
    return {
      db,
      check: () => {
        try {
          files.check();
        } catch (error) {
          // A deleted write-ahead log is still open here: its content is saved into the file.
          db.pragma('wal_checkpoint(PASSIVE)');
          throw error;
        }
      },
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

/** Serves until asked to close. */
export function serveInbox(owner: Answering<InboxCalls, InboxEvent>, open: () => OpenInbox): void {
  let own: OpenInbox;
  let inbox: Inbox;
  try {
    own = open();
    inbox = new Inbox(own.db);
    const { lastSeq, ...metadata } = readMetadata(own.db);
    owner.post({ event: { type: 'opened', lastSeq, metadata } });
  } catch (error) {
    owner.post({ event: { type: 'refused', error: plainError(error) } });
    owner.close();
    return;
  }
  const queue: Request<InboxCalls>[] = [];
  let sinceCheckpointBytes = 0;
  const checks = setInterval(() => own.check(), CHECK_EVERY_MS);

  /** @param work one transaction. */
  const commit = (ids: readonly number[], deliveries: number, work: () => void): void => {
    const startedMs = performance.now();
    let error: PlainError | null = null;
    try {
      work();
    } catch (cause) {
      error = plainError(failureOf(cause));
    }
    const tookMs = performance.now() - startedMs;
    const report = { deliveries, tookMs, error };
    owner.post({ event: { type: 'committed', lastSeq: inbox.lastSeq, commit: report } });
    for (const id of ids) owner.post(error === null ? { id, value: undefined } : { id, error });
  };
  const append = (requests: readonly Appending[]): void => {
    const arrivals = requests.flatMap(({ args }) => arrivalsIn(args));
    const ids = requests.map(({ id }) => id);
    commit(ids, arrivals.length, () => inbox.append(arrivals));
    sinceCheckpointBytes += requests.reduce((sum, { args }) => sum + args.bytes.byteLength, COMMIT_BYTES);
  };
  /** @returns false when the thread has ended. */
  const run = (request: Exclude<Request<InboxCalls>, Appending>): boolean => {
    const { id } = request;
    switch (request.name) {
      case 'beat':
        commit([id], 0, () => inbox.beat(request.args));
        return true;
      case 'beginEpoch':
        answer(owner, id, () => inbox.beginEpoch(request.args.epoch, request.args.changeSeq));
        return true;
      case 'prune':
        answer(owner, id, () => inbox.prune(request.args));
        return true;
      case 'close':
        clearInterval(checks);
        answer(owner, id, () => own.close());
        owner.close();
        return false;
    }
  };
  const checkpoint = (): void => {
    if (sinceCheckpointBytes < CHECKPOINT_BYTES) return;
    sinceCheckpointBytes = 0;
    try {
      own.db.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The next commit meets the same fault, and reports it.
    }
  };
  owner.onMessage((first) => {
    queue.push(first);
    for (;;) {
      for (let next = owner.take(); next !== undefined; next = owner.take()) queue.push(next);
      const appending = takeAppending(queue);
      if (appending.length > 0) append(appending);
      else {
        const request = queue.shift();
        if (request === undefined) return;
        if (request.name !== 'append' && !run(request)) return;
      }
      checkpoint();
    }
  });
}

/** Deliveries go before everything else. @returns what one transaction takes. */
function takeAppending(queue: Request<InboxCalls>[]): Appending[] {
  const taken: Appending[] = [];
  let deliveries = 0;
  let bytes = 0;
  for (let i = 0; i < queue.length && deliveries < DELIVERIES_AT_ONCE && bytes < BYTES_AT_ONCE;) {
    const request = queue[i];
    if (request?.name !== 'append') {
      i += 1;
      continue;
    }
    queue.splice(i, 1);
    taken.push(request);
    deliveries += request.args.ends.length;
    bytes += request.args.bytes.byteLength;
  }
  return taken;
}

function arrivalsIn({ bytes, ends, arrivedAtMs }: Appending['args']): Arrival[] {
  return ends.map((end, i) => ({
    body: bytes.subarray(i === 0 ? 0 : ends[i - 1], end),
    arrivedAtMs: arrivedAtMs[i] ?? 0,
  }));
}
