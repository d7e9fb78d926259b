/**
 * The work of the event log's thread. It takes what has queued while the last transaction was on its way to the disk
 * and commits it as the next one: the fsync is the batching window. Nothing else happens here, so that an answer
 * waits for nothing else.
 */
import { plainError, type PlainError } from '../sqlite/errors.ts';
import { failureOf } from '../sqlite/explain.ts';
import type { Owner } from '../platform/thread.ts';
import type { EncodedEntry, LogInput, PruneBounds, PrunedLog } from './event-log.ts';
import type { OwnLog } from './own-log.ts';

export type ToLog =
  | Deliveries
  | { readonly type: 'entry'; readonly id: number; readonly entry: EncodedEntry }
  | { readonly type: 'beat'; readonly id: number; readonly atMs: number; readonly changeSeq: number }
  | ({ readonly type: 'prune'; readonly id: number } & PruneBounds)
  | { readonly type: 'begin_epoch'; readonly id: number; readonly epoch: string; readonly changeSeq: number }
  | { readonly type: 'close'; readonly id: number };

/** Deliveries that came together: one message, whose bytes are transferred instead of copied. */
interface Deliveries {
  readonly type: 'deliveries';
  /** The bodies, one after the other. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of each delivery: its id, which is free again once it is answered, and where its body ends. */
  readonly ids: readonly number[];
  readonly ends: readonly number[];
  readonly arrivedAtMs: readonly number[];
}

/** What a start needs to know of the mirror's previous run. */
export interface LastLife {
  readonly aliveAtMs: number | null;
  /** Of the last entry. */
  readonly lastAtMs: number | null;
}

export type FromLog =
  | {
      readonly type: 'opened';
      readonly lastSeq: number;
      readonly epoch: string;
      readonly life: LastLife;
    }
  | { readonly type: 'refused'; readonly error: PlainError }
  | Appended
  | { readonly type: 'done'; readonly id: number; readonly value: PrunedLog | null }
  | { readonly type: 'failed'; readonly ids: readonly number[]; readonly error: PlainError }
  | { readonly type: 'closed'; readonly id: number };

/** What one transaction has put on disk. */
export interface Appended {
  readonly type: 'appended';
  readonly lastSeq: number;
  /** Ids and positions, alternating. */
  readonly placed: readonly number[];
  /** The same, of bodies that were there before. */
  readonly duplicates: readonly number[];
}

/**
 * One transaction's share: large enough to spread an fsync, small enough to answer in time, and for the answers of
 * one to be on their way while the next is being committed.
 */
const INPUTS_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 << 20;

/** The write-ahead log is moved into the file when about this much was committed to it, after the answers. */
const CHECKPOINT_BYTES = 16 << 20;
const LOOK_EVERY_MS = 1_000;
/** Pages that a transaction writes besides the bytes of its entries. */
const COMMIT_BYTES = 16 << 10;

interface Waiting {
  readonly id: number;
  readonly input: LogInput;
  readonly bytes: number;
}

/** Serves until asked to close. @param open throws StoreError when the event log cannot be had. */
export function serveEventLog(owner: Owner<ToLog, FromLog>, open: () => OwnLog): void {
  let own: OwnLog;
  try {
    own = open();
  } catch (error) {
    owner.post({ type: 'refused', error: plainError(error) });
    owner.close();
    return;
  }
  const { db, log } = own;
  const waiting: Waiting[] = [];
  /** What is asked besides entries, in order. */
  const errands: Exclude<ToLog, { type: 'deliveries' | 'entry' }>[] = [];
  let sinceCheckpointBytes = 0;

  const accept = (message: ToLog): void => {
    if (message.type === 'deliveries') unpack(message, waiting);
    else if (message.type === 'entry') {
      const { id, entry } = message;
      waiting.push({ id, input: { kind: 'entry', entry }, bytes: entry.payload.byteLength });
    } else errands.push(message);
  };
  const drain = (): void => {
    for (let next = owner.take(); next !== undefined; next = owner.take()) accept(next);
  };
  const append = (taken: readonly Waiting[]): void => {
    const placed: number[] = [];
    const duplicates: number[] = [];
    try {
      const places = log.append(taken.map(({ input }) => input));
      for (const [i, { seq, duplicate }] of places.entries()) {
        (duplicate ? duplicates : placed).push(taken[i]?.id ?? -1, seq);
      }
    } catch (error) {
      owner.post({ type: 'failed', ids: taken.map(({ id }) => id), error: plainError(failureOf(error)) });
      return;
    }
    owner.post({ type: 'appended', lastSeq: log.lastSeq, placed, duplicates });
    sinceCheckpointBytes += taken.reduce((sum, { bytes }) => sum + bytes, COMMIT_BYTES);
  };
  /** @returns false when the thread has ended. */
  const run = (errand: (typeof errands)[number]): boolean => {
    const { id } = errand;
    try {
      switch (errand.type) {
        case 'beat':
          log.beat(errand.atMs, errand.changeSeq);
          owner.post({ type: 'done', id, value: null });
          return true;
        case 'prune':
          owner.post({ type: 'done', id, value: log.prune(errand) });
          return true;
        case 'begin_epoch':
          log.beginEpoch(errand.epoch, errand.changeSeq);
          owner.post({ type: 'done', id, value: null });
          return true;
        case 'close':
          clearInterval(looks);
          db.close();
          own.release();
          owner.post({ type: 'closed', id });
          owner.close();
          return false;
      }
    } catch (error) {
      owner.post({ type: 'failed', ids: [id], error: plainError(failureOf(error)) });
      return true;
    }
  };
  let lookedAtMs = 0;
  const look = (): void => {
    if (performance.now() - lookedAtMs < LOOK_EVERY_MS) return;
    lookedAtMs = performance.now();
    own.look();
  };
  // In a burst the loop below has no end: it looks by itself.
  const looks = setInterval(look, LOOK_EVERY_MS);
  const checkpoint = (): void => {
    if (sinceCheckpointBytes < CHECKPOINT_BYTES) return;
    // Whatever is in its way now is tried again after as much once more.
    sinceCheckpointBytes = 0;
    try {
      db.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The next commit meets the same fault, and reports it.
    }
  };

  owner.onMessage((first) => {
    accept(first);
    drain();
    while (waiting.length > 0 || errands.length > 0) {
      const taken = take(waiting);
      if (taken.length > 0) append(taken);
      else {
        const errand = errands.shift();
        if (errand !== undefined && !run(errand)) return;
      }
      checkpoint();
      look();
      drain();
    }
  });
  const { epoch, aliveAtMs, lastAtMs } = log.metadata();
  owner.post({ type: 'opened', lastSeq: log.lastSeq, epoch, life: { aliveAtMs, lastAtMs } });
}

/** @returns the first of them, as many as one transaction takes. */
function take(waiting: Waiting[]): Waiting[] {
  let count = 0;
  for (let bytes = 0; count < Math.min(INPUTS_AT_ONCE, waiting.length) && bytes < BYTES_AT_ONCE; count += 1) {
    bytes += waiting[count]?.bytes ?? 0;
  }
  return waiting.splice(0, count);
}

function unpack({ bytes, ids, ends, arrivedAtMs }: Deliveries, into: Waiting[]): void {
  let start = 0;
  for (const [i, id] of ids.entries()) {
    const end = ends[i];
    const atMs = arrivedAtMs[i];
    if (end === undefined || atMs === undefined)
      throw new Error(`a delivery without an end or a time: ${id}`);
    const body = bytes.subarray(start, end);
    into.push({ id, input: { kind: 'delivery', body, arrivedAtMs: atMs }, bytes: end - start });
    start = end;
  }
}
