/**
 * What the writer's thread does. It takes what has queued while the last transaction was on its way to the disk and
 * commits it as the next one: the fsync is the batching window. Deliveries go before reads and everything else.
 */
import type { HistoryNews } from './epoch.ts';
import { StoreError, type StoreErrorKind } from './errors.ts';
import type { Db } from './open.ts';
import type { Owner } from './thread.ts';
import { Writer, type Input, type Result } from './writer.ts';

export type ToWriter =
  | { readonly type: 'input'; readonly id: number; readonly input: Input }
  | { readonly type: 'counts'; readonly id: number }
  | { readonly type: 'close'; readonly id: number };

export interface PlainError {
  readonly kind: StoreErrorKind;
  readonly message: string;
}

export type Outcome =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly error: PlainError };

export type FromWriter =
  | { readonly type: 'opened'; readonly lastSeq: number; readonly news: readonly HistoryNews[] }
  | { readonly type: 'refused'; readonly error: PlainError }
  | { readonly type: 'outcomes'; readonly lastSeq: number; readonly outcomes: readonly Outcome[] }
  | { readonly type: 'closed'; readonly id: number; readonly news: readonly HistoryNews[] };

/** One transaction's share: large enough to spread an fsync, small enough to answer in time. */
const DELIVERIES_AT_ONCE = 512;
const OTHERS_AT_ONCE = 16;

type InputMessage = Extract<ToWriter, { type: 'input' }>;

/** The database, held by this writer alone. */
export interface OwnDatabase {
  readonly db: Db;
  /** What was noticed of its history when it was opened. */
  readonly news: readonly HistoryNews[];
  /** After the last commit, before `db.close()`. */
  readonly beforeClose: () => readonly HistoryNews[];
  /** Lets others write it. After `db.close()`. */
  readonly release: () => void;
}

/** Serves until told to close. @param open throws StoreError when the database cannot be had. */
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
  const deliveries: InputMessage[] = [];
  const others: InputMessage[] = [];
  let closing: number | null = null;

  const accept = (message: ToWriter): void => {
    switch (message.type) {
      case 'input':
        (message.input.kind === 'delivery' ? deliveries : others).push(message);
        return;
      case 'counts':
        owner.post({
          type: 'outcomes',
          lastSeq: writer.lastSeq,
          outcomes: [{ id: message.id, ok: true, value: writer.branchCounts() }],
        });
        return;
      case 'close':
        closing = message.id;
    }
  };
  const drain = (): void => {
    for (let next = owner.take(); next !== undefined; next = owner.take()) accept(next);
  };
  const commit = (messages: readonly InputMessage[]): void => {
    if (messages.length === 0) return;
    const results = writer.commit(messages.map((message) => message.input));
    const outcomes = messages.map(({ id }, i) => outcomeOf(id, results[i]));
    owner.post({ type: 'outcomes', lastSeq: writer.lastSeq, outcomes });
  };

  owner.onMessage((first) => {
    accept(first);
    drain();
    while (deliveries.length > 0 || others.length > 0) {
      commit(deliveries.splice(0, DELIVERIES_AT_ONCE));
      drain();
      if (deliveries.length === 0) commit(others.splice(0, OTHERS_AT_ONCE));
      // Others are never starved: a short share of them goes between two batches of deliveries.
      else commit(others.splice(0, 1));
      drain();
    }
    if (closing === null) return;
    const lastNews = beforeClose();
    db.close();
    release();
    owner.post({ type: 'closed', id: closing, news: lastNews });
    owner.close();
  });
  owner.post({ type: 'opened', lastSeq: writer.lastSeq, news });
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
