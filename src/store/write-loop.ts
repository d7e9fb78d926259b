/**
 * The work of the writer's thread. It takes what has queued while the last transaction was on its way to the disk and
 * commits it as the next one: the fsync is the batching window. Deliveries go before reads and everything else.
 */
import type { HistoryNews } from './epoch.ts';
import { StoreError, type StoreErrorKind } from './errors.ts';
import type { Db } from './open.ts';
import { lastLife, type Life } from './queries/status.ts';
import type { Owner } from './thread.ts';
import { Writer, type Appended, type Input, type Result } from './writer.ts';

export type ToWriter =
  | Deliveries
  | { readonly type: 'others'; readonly inputs: readonly WaitingOther[] }
  | { readonly type: 'counts'; readonly id: number }
  | { readonly type: 'restart'; readonly keepBytes: number | null }
  | { readonly type: 'close'; readonly id: number };

export type OtherInput = Exclude<Input, { kind: 'delivery' }>;

export interface WaitingOther {
  readonly id: number;
  readonly input: OtherInput;
}

/** Deliveries that came together: one message, whose bytes are transferred instead of copied. */
export interface Deliveries {
  readonly type: 'deliveries';
  /** The bodies, one after the other. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of each delivery: its id, which is free again once it is answered, and where its body ends. */
  readonly ids: readonly number[];
  readonly ends: readonly number[];
  readonly arrivedAtMs: readonly number[];
}

export interface PlainError {
  readonly kind: StoreErrorKind;
  readonly message: string;
}

export type Outcome =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly error: PlainError };

export type FromWriter =
  | {
      readonly type: 'opened';
      readonly lastSeq: number;
      readonly news: readonly HistoryNews[];
      readonly life: Life;
    }
  | { readonly type: 'refused'; readonly error: PlainError }
  | Outcomes
  | { readonly type: 'closed'; readonly id: number; readonly news: readonly HistoryNews[] };

/** The result of one transaction. */
export interface Outcomes {
  readonly type: 'outcomes';
  readonly lastSeq: number;
  /** Ids and log positions, alternating, of what was stored and needs no further report: nearly everything. */
  readonly stored: readonly number[];
  readonly outcomes: readonly Outcome[];
}

/**
 * One transaction's share: large enough to spread an fsync, small enough to answer in time, and for the answers of
 * one to be on their way while the next is being committed.
 */
const DELIVERIES_AT_ONCE = 256;
const OTHERS_AT_ONCE = 16;
/** While deliveries come, each batch waits for up to this many others. */
const OTHERS_BESIDE_DELIVERIES = 3;
const LATELY_MS = 500;
/** Rows that the others of one transaction may merge before no more of them is taken: a few milliseconds' work. */
const ROWS_AT_ONCE = 2_000;

/** How long readers may keep the write-ahead log from starting over, and so the writer from its next commit. */
const RESTART_WAIT_MS = 20;

interface Waiting {
  readonly id: number;
  readonly input: Input;
}

/** The database, held by this writer alone. */
export interface OwnDatabase {
  readonly db: Db;
  /** What was noticed about its history when it was opened. */
  readonly news: readonly HistoryNews[];
  /** After the last commit, before `db.close()`. */
  readonly beforeClose: () => readonly HistoryNews[];
  /** Lets others write it. After `db.close()`. */
  readonly release: () => void;
}

/** Serves until asked to close. @param open throws StoreError when the database cannot be had. */
export function serveWriter(owner: Owner<ToWriter, FromWriter>, open: () => OwnDatabase): void {
  let own;
  try {
    own = open();
  } catch (error) {
    owner.post({ type: 'refused', error: plain(error) });
    owner.close();
    return;
  }
  const { db, news, beforeClose, release } = own;
  const writer = new Writer(db);
  const deliveries: Waiting[] = [];
  const others: Waiting[] = [];
  let closing: number | null = null;
  let restart: { readonly keepBytes: number | null } | null = null;
  let deliveredAtMs = Number.NEGATIVE_INFINITY;

  const accept = (message: ToWriter): void => {
    switch (message.type) {
      case 'deliveries':
        unpack(message, deliveries);
        return;
      case 'others':
        others.push(...message.inputs);
        return;
      case 'counts':
        owner.post({
          type: 'outcomes',
          lastSeq: writer.lastSeq,
          stored: [],
          outcomes: [{ id: message.id, ok: true, value: writer.branchCounts() }],
        });
        return;
      case 'restart':
        restart = message;
        return;
      case 'close':
        closing = message.id;
    }
  };
  const drain = (): void => {
    for (let next = owner.take(); next !== undefined; next = owner.take()) accept(next);
  };
  const commit = (waiting: readonly Waiting[]): void => {
    if (waiting.length === 0) return;
    const results = writer.commit(waiting.map(({ input }) => input));
    const stored: number[] = [];
    const outcomes: Outcome[] = [];
    for (const [i, { id, input }] of waiting.entries()) {
      const result = results[i];
      const seq = input.kind === 'delivery' ? plainSeq(result) : null;
      if (seq === null) outcomes.push(outcomeOf(id, result));
      else stored.push(id, seq);
    }
    owner.post({ type: 'outcomes', lastSeq: writer.lastSeq, stored, outcomes });
  };

  const beginLogAnew = (): void => {
    if (restart !== null) restartLog(db, restart.keepBytes);
    restart = null;
  };

  owner.onMessage((first) => {
    accept(first);
    drain();
    while (deliveries.length > 0 || others.length > 0) {
      const taken = deliveries.splice(0, DELIVERIES_AT_ONCE);
      if (taken.length > 0) deliveredAtMs = performance.now();
      const isBeside = performance.now() - deliveredAtMs < LATELY_MS;
      // With the deliveries, not after them: the others are never starved, and cost no fsync of their own.
      taken.push(...takeOthers(others, isBeside ? OTHERS_BESIDE_DELIVERIES : OTHERS_AT_ONCE));
      commit(taken);
      beginLogAnew();
      drain();
    }
    beginLogAnew();
    if (closing === null) return;
    const lastNews = beforeClose();
    db.close();
    release();
    owner.post({ type: 'closed', id: closing, news: lastNews });
    owner.close();
  });
  owner.post({ type: 'opened', lastSeq: writer.lastSeq, news, life: lastLife(db) });
}

/** @returns the first of them, at most so many, and at least one however large it is. */
function takeOthers(others: Waiting[], atMost: number): Waiting[] {
  let count = 0;
  for (let rows = 0; count < Math.min(atMost, others.length) && rows < ROWS_AT_ONCE; count += 1)
    rows += rowsOf(others[count]?.input);
  return others.splice(0, count);
}

/** Variants and levels of a read, which each may be a row to write. */
function rowsOf(input: Input | undefined): number {
  if (input?.kind !== 'entry' || input.entry.kind !== 'read') return 0;
  const variants = input.entry.snapshot?.variants ?? [];
  return variants.reduce((sum, { levels }) => sum + 1 + (levels?.length ?? 0), 0);
}

/**
 * Between two commits, when no other thread can hold the lock that it needs. The next commit goes to the file's
 * beginning, and shortens the file to `keepBytes`.
 */
function restartLog(db: Db, keepBytes: number | null): void {
  const timeoutMs = db.pragma('busy_timeout', { simple: true }) as number;
  db.pragma(`busy_timeout = ${RESTART_WAIT_MS}`);
  try {
    db.pragma(`journal_size_limit = ${keepBytes ?? -1}`);
    db.pragma('wal_checkpoint(RESTART)');
  } catch {
    // The checkpoint thread meets the same fault and reports it.
  } finally {
    db.pragma(`busy_timeout = ${timeoutMs}`);
  }
}

function unpack({ bytes, ids, ends, arrivedAtMs }: Deliveries, into: Waiting[]): void {
  let start = 0;
  for (const [i, id] of ids.entries()) {
    const end = ends[i];
    const atMs = arrivedAtMs[i];
    if (end === undefined || atMs === undefined)
      throw new Error(`a delivery without an end or a time: ${id}`);
    into.push({ id, input: { kind: 'delivery', body: bytes.subarray(start, end), arrivedAtMs: atMs } });
    start = end;
  }
}

/** @returns the position of a new delivery that needs no further report; null of any other. */
function plainSeq(result: Result | undefined): number | null {
  if (result?.ok !== true) return null;
  const { seq, duplicate, facts } = result.value as Appended;
  return duplicate || facts.length > 0 ? null : seq;
}

function outcomeOf(id: number, result: Result | undefined): Outcome {
  if (result === undefined) return { id, ok: false, error: { kind: 'closed', message: 'no result' } };
  return result.ok ? { id, ok: true, value: result.value } : { id, ok: false, error: plain(result.error) };
}

/** Errors lose their class on the way between threads. */
function plain(error: unknown): PlainError {
  if (error instanceof StoreError) return { kind: error.kind, message: error.message };
  return { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) };
}
