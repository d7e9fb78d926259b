/**
 * The event log: every input of the mirror, in the order of its arrival, in a file that nobody but this program opens.
 * A delivery is answered once it is here and synced; the tables are made of it afterwards
 * (docs/architecture.md#the-event-log).
 */
import type { Db } from '../sqlite/open.ts';
import { bodyHash } from './body-hash.ts';
import { prepareLog } from './log-sql.ts';

/** Identifies a product's detail. */
interface EncodedDetail {
  readonly productId: string;
  readonly hash: Uint8Array<ArrayBuffer>;
  /** The payload to take instead when the last detail logged for the product has this hash. */
  readonly payloadWithout: Uint8Array<ArrayBuffer>;
}

/** An entry as the event log takes it. */
export interface EncodedEntry {
  readonly kind: string;
  readonly atMs: number;
  readonly payload: Uint8Array<ArrayBuffer>;
  /** A read that shows the product: its detail may be in the event log already. */
  readonly detail: EncodedDetail | null;
}

export type LogInput =
  | { readonly kind: 'delivery'; readonly body: Uint8Array; readonly arrivedAtMs: number }
  | { readonly kind: 'entry'; readonly entry: EncodedEntry };

/** Where an input is in the event log. */
export interface Place {
  readonly seq: number;
  /** The same body was there before: nothing was written. */
  readonly duplicate: boolean;
}

/** What the event log knows of itself besides its entries. */
export interface LogMetadata {
  /** Identifies one history: consumers of the change feed start over when it changes. */
  readonly epoch: string;
  /** The heartbeat: until when the mirror listened; null before the first. */
  readonly aliveAtMs: number | null;
  /** The highest change number known to be handed out. */
  readonly changeSeq: number;
  /** Of the last entry; null if there is none. */
  readonly lastAtMs: number | null;
}

/** At most `limit` of the oldest entries that are older than an instant and below a position. */
export interface PruneBounds {
  readonly beforeMs: number;
  readonly belowSeq: number;
  readonly limit: number;
}

export interface PrunedLog {
  readonly deleted: number;
  /** The first entry that is kept; the last one, which stays for its position, is not when it is old as well. */
  readonly firstSeq: number;
}

export class EventLog {
  readonly #db: Db;
  readonly #sql: ReturnType<typeof prepareLog>;
  #lastSeq: number;

  constructor(db: Db) {
    this.#db = db;
    this.#sql = prepareLog(db);
    this.#lastSeq = this.#readLastSeq();
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get firstSeq(): number {
    return this.#sql.firstSeq.get() ?? this.#lastSeq + 1;
  }

  metadata(): LogMetadata {
    const row = this.#sql.metadata.get();
    if (row === undefined) throw new Error('the event log has no metadata: another program has changed it');
    return { ...row, lastAtMs: this.#sql.lastAtMs.get() ?? null };
  }

  /** All of them, on disk when it returns, or none. @throws SqliteError */
  append(inputs: readonly LogInput[]): Place[] {
    return this.#transact(() => inputs.map((input) => this.#place(input)));
  }

  /** Shows that a delivery could be kept now. @param changeSeq the last change number handed out. @throws SqliteError */
  beat(atMs: number, changeSeq: number): void {
    this.#transact(() => this.#sql.beat.run(atMs, changeSeq));
  }

  prune(args: PruneBounds): PrunedLog {
    return this.#transact(() => ({
      deleted: this.#sql.prune.run(args).changes,
      firstSeq: this.firstSeq + (this.#sql.isLastOld.get(args) ?? 0),
    }));
  }

  /** The mirror begins again, without the details that it held. */
  beginEpoch(epoch: string, changeSeq: number): void {
    this.#transact(() => {
      this.#sql.beginEpoch.run(epoch, changeSeq);
      this.#sql.forgetDetails.run();
    });
  }

  #place(input: LogInput): Place {
    const seq = this.#lastSeq + 1;
    if (input.kind === 'delivery') {
      const key = bodyHash(input.body);
      if (this.#sql.insert.run(seq, 'delivery', input.arrivedAtMs, key, input.body).changes === 0) {
        const known = this.#sql.known.get(key);
        if (known === undefined) throw new Error('a body was neither new to the event log nor found there');
        return { seq: known, duplicate: true };
      }
    } else {
      const { kind, atMs, payload, detail } = input.entry;
      const isKnown = detail !== null && this.#isLogged(detail.productId, detail.hash);
      this.#sql.insert.run(seq, kind, atMs, null, isKnown ? detail.payloadWithout : payload);
      if (detail !== null && !isKnown) this.#sql.putDetail.run(detail.productId, detail.hash, seq);
    }
    this.#lastSeq = seq;
    return { seq, duplicate: false };
  }

  /** Whether this is the last detail of the product, and still there. */
  #isLogged(productId: string, hash: Uint8Array): boolean {
    const last = this.#sql.detail.get(productId);
    return last !== undefined && last.seq >= this.firstSeq && last.hash.equals(hash);
  }

  #transact<T>(work: () => T): T {
    this.#rollBack();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        this.#rollBack();
        this.#lastSeq = this.#readLastSeq();
      } catch {
        // The first error is the one to report; the next transaction tries again.
      }
      throw error;
    }
  }

  /** SQLite rolls back by itself on some errors; a failed COMMIT may leave the transaction open. */
  #rollBack(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
  }

  #readLastSeq(): number {
    return this.#sql.lastSeq.get() ?? 0;
  }
}
