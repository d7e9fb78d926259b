/**
 * The one way into the mirror: takes what has queued, appends it to the log, folds it into the tables, and commits
 * it all as one transaction. Synchronous; `writer-thread.ts` gives it a thread.
 */
import type { Entry } from '../core/entry.ts';
import type { Fact } from '../core/fact.ts';
import { fold } from '../core/fold.ts';
import { parseDelivery, type ParsedDelivery } from '../service/delivery.ts';
import { prepareCommands, type CommandName, type Commands } from './commands.ts';
import { sqliteCode, StoreError } from './errors.ts';
import { bodyHash, Log, type NewEntry } from './log.ts';
import type { Db } from './open.ts';
import { SqliteTables } from './sqlite-tables.ts';

export type Input =
  | { readonly kind: 'delivery'; readonly body: Uint8Array; readonly arrivedAtMs: number }
  | { readonly kind: 'entry'; readonly entry: NewEntry }
  | { readonly kind: 'command'; readonly name: CommandName; readonly args: unknown };

export interface Appended {
  readonly seq: number;
  /** The same body is in the log already: nothing was written. */
  readonly duplicate: boolean;
  /** What happened that is worth a person's attention. */
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

  constructor(db: Db) {
    this.#db = db;
    this.#log = new Log(db);
    this.#tables = new SqliteTables(db);
    this.#commands = prepareCommands(db);
  }

  get lastSeq(): number {
    return this.#log.lastSeq;
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
      const code = sqliteCode(error);
      if (inputs.length > 1 && (code === null || code.startsWith('SQLITE_CONSTRAINT'))) {
        return inputs.flatMap((input) => this.commit([input]));
      }
      const [only] = inputs;
      if (only?.kind === 'delivery' && (code === null || code.startsWith('SQLITE_CONSTRAINT'))) {
        return this.#keepUnfolded(only.body, only.arrivedAtMs, error);
      }
      return inputs.map(() => ({ ok: false, error: cannotCommit(error) }));
    }
  }

  /** What is authentic is never lost, not even to a fault of this program: it is kept, and what moves is read. */
  #keepUnfolded(body: Uint8Array, arrivedAtMs: number, cause: unknown): Result[] {
    const problem = `not merged: ${cause instanceof Error ? cause.message : String(cause)}`;
    const parsed: ParsedDelivery = {
      requestId: null,
      changes: [],
      unreadable: [{ itemIndex: null, problem, variantId: null }],
    };
    try {
      return this.#transact([null], () => this.#appendDelivery(body, arrivedAtMs, parsed));
    } catch (error) {
      return [{ ok: false, error: cannotCommit(error) }];
    }
  }

  #transact<T>(items: readonly T[], apply: (item: T) => unknown): Result[] {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const results = items.map((item): Result => ({ ok: true, value: apply(item) }));
      this.#tables.flush();
      this.#db.exec('COMMIT');
      return results;
    } catch (error) {
      // SQLite rolls back by itself on some errors; a failed COMMIT may have left the transaction open.
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      this.#tables.reload();
      this.#log.reload();
      throw error;
    }
  }

  #apply(input: Input): unknown {
    switch (input.kind) {
      case 'delivery':
        return this.#appendDelivery(input.body, input.arrivedAtMs, null);
      case 'entry':
        return this.#appendEntry(input.entry);
      case 'command':
        return (this.#commands[input.name] as (args: unknown) => unknown)(input.args);
    }
  }

  #appendDelivery(body: Uint8Array, atMs: number, readAs: ParsedDelivery | null): Appended {
    const hash = bodyHash(body);
    const position = this.#log.positionOf(hash);
    if (position !== null) return { seq: position, duplicate: true, facts: [] };
    const parsed = readAs ?? parseDelivery(body);
    const seq = this.#log.appendDelivery(body, hash, atMs);
    return this.#fold({ kind: 'delivery', seq, atMs, ...parsed });
  }

  #appendEntry(entry: NewEntry): Appended {
    const known = entry.kind === 'read' ? (this.#tables.product(entry.productId)?.detailJson ?? null) : null;
    const seq = this.#log.append(entry, known);
    if (entry.kind === 'read') this.#commands.clearFailure({ productId: entry.productId });
    return this.#fold({ ...entry, seq });
  }

  #fold(entry: Entry): Appended {
    const facts: Fact[] = [];
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

/** The everyday branches are counted, not told one by one. */
function isNotable(fact: Fact): boolean {
  return fact.kind !== 'change' && fact.kind !== 'level';
}

function cannotCommit(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = sqliteCode(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code?.startsWith('SQLITE_BUSY') === true) {
    return new StoreError('busy', `another program holds the database's write lock: ${message}`, {
      cause: error,
    });
  }
  return new StoreError(
    'cannot_commit',
    `the store cannot commit (${code ?? 'no SQLite code'}): ${message}`,
    {
      cause: error,
    },
  );
}
