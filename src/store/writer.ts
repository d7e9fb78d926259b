/**
 * The one way into the mirror: takes what has queued, appends it to the event log, applies it to the tables, and
 * commits it all as one transaction. Synchronous; `write-loop.ts` runs it on a thread.
 */
import type { Statement } from 'better-sqlite3';
import type { Entry } from '../core/entry.ts';
import type { Fact } from '../core/fact.ts';
import { fold } from '../core/fold.ts';
import { prepareCommands, type CommandName, type Commands } from './commands.ts';
import { isBusy, sqliteCode, StoreError } from './errors.ts';
import { remedyFor } from './explain.ts';
import { Log, readDelivery, type DeliveryKind, type NewEntry } from './log.ts';
import type { Db } from './open.ts';
import { SqliteTables } from './sqlite-tables.ts';

export type Input =
  | { readonly kind: 'delivery'; readonly body: Uint8Array; readonly arrivedAtMs: number }
  | { readonly kind: 'entry'; readonly entry: NewEntry }
  | { readonly kind: 'command'; readonly name: CommandName; readonly args: unknown };

export interface Appended {
  readonly seq: number;
  /** The same body is in the event log already: nothing was written. */
  readonly duplicate: boolean;
  /** What happened that deserves a person's attention. */
  readonly facts: readonly Fact[];
}

export type Result =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: StoreError };

/** How often each branch of the rules was taken since the writer started. */
export type BranchCounts = Readonly<Record<string, number>>;

export class Writer {
  readonly #db: Db;
  readonly #log: Log;
  readonly #tables: SqliteTables;
  readonly #commands: Commands;
  readonly #counts = new Map<string, number>();
  /** Changes when another program has written, such as a person in a SQL shell. */
  readonly #dataVersion;
  /** What the triggers ask whether a row is the mirror's own work. */
  readonly #markOwn: { readonly open: Statement; readonly close: Statement };
  #knownVersion: number | undefined;
  #lastSeq: number;
  /**
   * A transaction failed: the cache may be ahead of the file; or another program wrote: the cache may be behind it.
   */
  #mustReload = false;

  constructor(db: Db) {
    this.#db = db;
    // Before anything is read: another program's writes from here on are noticed.
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#knownVersion = this.#dataVersion.get();
    this.#markOwn = {
      open: db.prepare('UPDATE own_write SET is_open = 1'),
      close: db.prepare('UPDATE own_write SET is_open = 0'),
    };
    this.#log = new Log(db);
    this.#tables = new SqliteTables(db);
    this.#commands = prepareCommands(db);
    this.#lastSeq = this.#log.lastSeq;
  }

  /** The last log position committed. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  branchCounts(): BranchCounts {
    return Object.fromEntries(this.#counts);
  }

  /**
   * Commits all inputs as one transaction. When SQLite cannot, every input has failed and nothing is written. An
   * input that breaks the program itself fails alone: its neighbours are committed without it.
   */
  commit(inputs: readonly Input[]): Result[] {
    try {
      return this.#transact(inputs, (input) => this.#apply(input));
    } catch (error) {
      if (!isFaultOfInput(error)) return inputs.map(() => ({ ok: false, error: cannotCommit(error) }));
      if (inputs.length > 1) {
        // By halves: a batch with one broken input costs a few transactions, not one per input.
        const middle = inputs.length >> 1;
        return [...this.commit(inputs.slice(0, middle)), ...this.commit(inputs.slice(middle))];
      }
      return inputs.map((input) =>
        input.kind === 'delivery'
          ? this.#keepUnmerged(input.body, input.arrivedAtMs, error)
          : { ok: false, error: cannotCommit(error) },
      );
    }
  }

  /** Authentic input is never lost, not even to a fault of this program: it is kept, and what it names is read. */
  #keepUnmerged(body: Uint8Array, arrivedAtMs: number, cause: unknown): Result {
    const problem = `not merged: ${cause instanceof Error ? cause.message : String(cause)}`;
    try {
      const [result] = this.#transact([body], () => {
        const appended = this.#appendDelivery('unmerged', body, arrivedAtMs);
        // Beside the facts of the rules: the cause, which the tables do not need.
        const fact: Fact = { kind: 'quarantined', variantId: null, problem };
        return { ...appended, facts: [...appended.facts, fact] };
      });
      return result ?? { ok: false, error: cannotCommit(cause) };
    } catch (error) {
      return { ok: false, error: cannotCommit(error) };
    }
  }

  #transact<T>(items: readonly T[], apply: (item: T) => unknown): Result[] {
    this.#rollBack();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      this.#markOwn.open.run();
      const version = this.#dataVersion.get();
      if (this.#mustReload || version !== this.#knownVersion) {
        this.#tables.reload();
        this.#log.reload();
        this.#mustReload = false;
        this.#knownVersion = version;
      }
      const results = items.map((item): Result => ({ ok: true, value: apply(item) }));
      this.#tables.flush();
      this.#markOwn.close.run();
      this.#db.exec('COMMIT');
      this.#lastSeq = this.#log.lastSeq;
      return results;
    } catch (error) {
      this.#mustReload = true;
      try {
        this.#rollBack();
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

  #apply(input: Input): unknown {
    switch (input.kind) {
      case 'delivery':
        return this.#appendDelivery('delivery', input.body, input.arrivedAtMs);
      case 'entry':
        return this.#appendEntry(input.entry);
      case 'command':
        return (this.#commands[input.name] as (args: unknown) => unknown)(input.args);
    }
  }

  #appendDelivery(kind: DeliveryKind, body: Uint8Array, atMs: number): Appended {
    const { seq, duplicate } = this.#log.appendDelivery(kind, body, atMs);
    if (duplicate) return { seq, duplicate, facts: [] };
    return this.#fold({ kind: 'delivery', seq, atMs, ...readDelivery(kind, body) });
  }

  #appendEntry(entry: NewEntry): Appended {
    const known = entry.kind === 'read' ? (this.#tables.product(entry.productId)?.detailJson ?? null) : null;
    const seq = this.#log.append(entry, known);
    if (entry.kind === 'read') this.#commands.clearFailure({ productId: entry.productId });
    return this.#fold({ ...entry, seq });
  }

  #fold(entry: Entry): Appended {
    const facts: Fact[] = [];
    // What changed will change again. Reads go through the whole catalogue.
    this.#tables.touchFor(entry.kind === 'delivery');
    fold(this.#tables, entry, (fact) => {
      this.#count(fact);
      if (isNotable(fact)) facts.push(fact);
    });
    return { seq: entry.seq, duplicate: false, facts };
  }

  #count(fact: Fact): void {
    const name = 'branch' in fact ? `${fact.kind}: ${fact.branch}` : fact.kind;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }
}

/** The everyday branches are counted, not reported one by one. */
function isNotable(fact: Fact): boolean {
  return fact.kind !== 'change' && fact.kind !== 'level';
}

/** Not the disk and not the lock: the same input would fail again, and its neighbours would not. */
function isFaultOfInput(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === null || code.startsWith('SQLITE_CONSTRAINT');
}

function cannotCommit(cause: unknown): StoreError {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (isBusy(cause)) {
    return new StoreError('busy', `another program holds the database's write lock: ${message}`, { cause });
  }
  const code = sqliteCode(cause) ?? 'no SQLite code';
  const remedy = remedyFor(cause);
  return new StoreError(
    'cannot_commit',
    `the database cannot commit (${code}): ${message}${remedy === null ? '' : `; ${remedy}`}`,
    { cause },
  );
}
