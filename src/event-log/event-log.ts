/**
 * The event log: every input of the mirror, in the order of its arrival, in a file that nobody but this program opens.
 * A delivery is answered once it is here and synced; the tables are made of it afterwards
 * (docs/architecture.md#the-event-log).
 */
import type { Db } from '../sqlite/open.ts';
import type { FileIdentity } from '../sqlite/file-identity.ts';
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

/**
 * The positions of mirrors that an epoch goes on from: those that the entries before it lead to; or that of the one mirror
 * that held what the event log does not.
 */
export interface ReachedFrom {
  readonly low: number;
  readonly high: number;
}

/** What the event log knows of itself besides its entries. */
export interface LogHistory {
  /** Identifies one history: consumers of the change feed start over when it changes. */
  readonly epoch: string;
  /** The entry that began it, and the epoch that it followed; null: it is the first. */
  readonly began: {
    readonly seq: number;
    readonly epochBefore: string;
    readonly reachedFrom: ReachedFrom;
  } | null;
  /** The file in which the epoch began, to recognise a copy; null before the first start. */
  readonly file: FileIdentity | null;
  /** The heartbeat: until when the mirror listened; null before that, in each epoch. */
  readonly aliveAtMs: number | null;
  /** Of the last entry; null: there is none. */
  readonly lastAtMs: number | null;
  /** Which versions of the rules applied the entries; none from before the first of them on record. */
  readonly rules: readonly RulesPeriod[];
}

export interface RulesPeriod {
  readonly version: number;
  readonly fromSeq: number;
}

export interface NewEpoch {
  readonly epoch: string;
  readonly epochBefore: string;
  readonly file: FileIdentity;
  readonly entry: EncodedEntry;
  readonly afterSeq: number;
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

  history(): LogHistory {
    const row = this.#sql.history.get();
    if (row === undefined) throw new Error('the event log has no history: another program has changed it');
    const { epoch, epochSeq, epochBefore, inode, bornAtMs, aliveAtMs } = row;
    const began =
      epochSeq === null || epochBefore === null
        ? null
        : { seq: epochSeq, epochBefore, reachedFrom: this.#reachedFrom(epochSeq) };
    const rules = JSON.parse(row.rules) as RulesPeriod[];
    const file = inode === null ? null : { inode, bornAtMs: bornAtMs ?? 0 };
    const lastAtMs = this.#sql.lastAtMs.get() ?? null;
    return { epoch, began, file, aliveAtMs, lastAtMs, rules };
  }

  /** Whether the entries from the first one on make the mirror: no epoch went on from one that held what they do not. */
  makesMirror(): boolean {
    return this.firstSeq <= 1 && this.#sql.beyondEntries.get() === undefined;
  }

  /** Where its entry is pruned, or of an earlier version, it was reached from all that is left before it. */
  #reachedFrom(epochSeq: number): ReachedFrom {
    const text = this.#sql.reachedFrom.get(epochSeq) ?? null;
    return text === null ? { low: 0, high: epochSeq - 1 } : (JSON.parse(text) as ReachedFrom);
  }

  /** All of them, on disk when it returns, or none. @throws SqliteError */
  append(inputs: readonly LogInput[]): Place[] {
    return this.#transact(() => inputs.map((input) => this.#place(input)));
  }

  /** Shows that a delivery could be kept now. @throws SqliteError */
  beat(atMs: number): void {
    this.#transact(() => this.#sql.beat.run(atMs));
  }

  prune(args: PruneBounds): PrunedLog {
    return this.#transact(() => ({
      deleted: this.#sql.prune.run(args).changes,
      firstSeq: this.firstSeq + (this.#sql.isLastOld.get(args) ?? 0),
    }));
  }

  /** On the first start: the file in which the epoch begins. */
  recordFile({ inode, bornAtMs }: FileIdentity): void {
    this.#transact(() => this.#sql.recordFile.run(inode, bornAtMs));
  }

  /** Entries from here on are applied by this version of the rules, unless they were before. */
  noteRules(version: number): void {
    const { rules } = this.history();
    if (rules.at(-1)?.version === version) return;
    const noted = JSON.stringify([...rules, { version, fromSeq: this.#lastSeq + 1 } satisfies RulesPeriod]);
    this.#transact(() => this.#sql.noteRules.run(noted));
  }

  /** History starts again, with an entry of kind `epoch` whose position is above `afterSeq`. */
  beginEpoch({ epoch, epochBefore, file, entry, afterSeq }: NewEpoch): void {
    this.#transact(() => {
      this.#lastSeq = Math.max(this.#lastSeq, afterSeq);
      const { seq } = this.#place({ kind: 'entry', entry });
      this.#sql.beginEpoch.run({ epoch, epochBefore, seq, inode: file.inode, bornAtMs: file.bornAtMs });
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
    // What an epoch left out before its entry is not given out again.
    return this.#sql.lastSeq.get() ?? 0;
  }
}
