/**
 * The tables as a projection of the event log: takes the next entries in their order, applies them by the rules of
 * core/ and commits them together with the position reached. Synchronous; `apply-loop.ts` runs it on a thread.
 */
import type { Entry } from '../../core/entry.ts';
import type { Fact } from '../../core/apply/fact.ts';
import { applyEntry } from '../../core/apply/apply-entry.ts';
import type { ParsedDelivery } from '../../store-api/delivery.ts';
import { prepareCommands, type CommandName, type Commands } from './commands.ts';
import { sqliteCode, StoreError } from '../../sqlite/errors.ts';
import { decodeEntry, readUnmerged, type LogRow } from '../../event-log/entries.ts';
import type { LogReader } from '../../event-log/read-log.ts';
import { failureOf } from '../../sqlite/explain.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepareRecords } from './records.ts';
import { SqliteTables } from './sqlite-tables.ts';
import { messageOf } from '../../platform/thrown.ts';

/** What the mirror writes beside the projection. */
export interface CommandInput {
  readonly name: CommandName;
  readonly args: unknown;
}

export type Result =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: StoreError };

/** What an entry did that somebody should know of. */
export interface Report {
  readonly seq: number;
  /** What happened that deserves a person's attention. */
  readonly facts: readonly Fact[];
  /** The detail that a read leaves out is not the one held here: it must be logged whole. */
  readonly detailLost: boolean;
  /** The rules failed on the entry, and it changed nothing. */
  readonly failed: string | null;
}

interface Step {
  readonly appliedSeq: number;
  readonly entries: number;
  readonly reports: readonly Report[];
  /** Of the commands, in their order. */
  readonly results: readonly Result[];
}

/** How often each branch of the rules was taken since the projection was opened. */
export type BranchCounts = Readonly<Record<string, number>>;

export class Projection {
  readonly #db: Db;
  readonly #log: LogReader;
  readonly #tables: SqliteTables;
  readonly #commands: Commands;
  readonly #record: ReturnType<typeof prepareRecords>;
  readonly #counts = new Map<string, number>();
  #appliedSeq: number;
  /** A transaction failed: the cache may be ahead of the file. */
  #mustReload = false;

  /** @param db the only connection that writes the tables. */
  constructor(db: Db, log: LogReader) {
    this.#db = db;
    this.#log = log;
    this.#tables = new SqliteTables(db);
    this.#commands = prepareCommands(db);
    this.#record = prepareRecords(db);
    this.#appliedSeq = this.#tables.state().appliedSeq;
  }

  /** The last entry that is committed to the tables. */
  get appliedSeq(): number {
    return this.#appliedSeq;
  }

  /** The last number of the change feed. */
  get changeSeq(): number {
    return this.#tables.state().changeSeq;
  }

  branchCounts(): BranchCounts {
    return Object.fromEntries(this.#counts);
  }

  /**
   * Applies the next entries of the event log, and then the commands, in one transaction. An entry or a command that
   * breaks the program itself fails alone.
   *
   * @param lastSeq the last entry to apply.
   * @throws StoreError when SQLite cannot commit: nothing was written.
   */
  step(commands: readonly CommandInput[], lastSeq = Number.MAX_SAFE_INTEGER): Step {
    try {
      if (this.#mustReload) this.#reload();
    } catch (error) {
      throw failureOf(error);
    }
    const rows = this.#log.after(this.#appliedSeq, lastSeq);
    if (rows.length === 0 && commands.length === 0) {
      return { appliedSeq: this.#appliedSeq, entries: 0, reports: [], results: [] };
    }
    try {
      return this.#commit(rows, commands);
    } catch (error) {
      if (!isFaultOfInput(error)) throw failureOf(error);
      return this.#oneByOne(rows, commands);
    }
  }

  #oneByOne(rows: readonly LogRow[], commands: readonly CommandInput[]): Step {
    const reports: Report[] = [];
    const results: Result[] = [];
    for (const row of rows) reports.push(...this.#commitAlone(row));
    for (const command of commands) {
      try {
        results.push(...this.#commit([], [command]).results);
      } catch (error) {
        if (!isFaultOfInput(error)) throw failureOf(error);
        results.push({ ok: false, error: failureOf(error) });
      }
    }
    return { appliedSeq: this.#appliedSeq, entries: rows.length, reports, results };
  }

  /**
   * Authentic input is never lost, not even to a fault of this program: what the entry names is read. Where that fails
   * as well, it may have been about anything.
   */
  #commitAlone(row: LogRow): readonly Report[] {
    try {
      return this.#commit([row], []).reports;
    } catch (error) {
      const problem = problemOf(error);
      if (row.kind !== 'delivery') {
        return this.#transact(() => [this.#passOver(row, problem)]);
      }
      const unmerged = readUnmerged(row.payload);
      try {
        return this.#transact(() => [this.#setAside(row, unmerged, problem)]);
      } catch (again) {
        const nameless = { itemIndex: null, problem: problemOf(again), variantId: null };
        const { requestId } = unmerged;
        return this.#transact(() => [
          this.#setAside(row, { requestId, changes: [], unreadable: [nameless] }, problem),
        ]);
      }
    }
  }

  #passOver(row: LogRow, problem: string): Report {
    this.#continues(row);
    const { seq } = row;
    this.#tables.putState({ ...this.#tables.state(), appliedSeq: seq });
    return { seq, facts: [], detailLost: false, failed: problem };
  }

  #setAside(row: LogRow, parsed: ParsedDelivery, problem: string): Report {
    this.#continues(row);
    const { seq, atMs } = row;
    const facts = this.#applyEntry({ kind: 'delivery', seq, atMs, ...parsed });
    // Beside the facts of the rules: the cause, which the tables do not need.
    facts.push({ kind: 'quarantined', variantId: null, problem: `not merged: ${problem}` });
    return { seq, facts, detailLost: false, failed: null };
  }

  #commit(rows: readonly LogRow[], commands: readonly CommandInput[]): Step {
    return this.#transact(() => {
      const reports: Report[] = [];
      for (const row of rows) {
        const report = this.#apply(row);
        if (report !== null) reports.push(report);
      }
      if (commands.length > 0) this.#tables.flush();
      const results = commands.map(({ name, args }): Result => {
        return { ok: true, value: (this.#commands[name] as (args: unknown) => unknown)(args) };
      });
      return { appliedSeq: rows.at(-1)?.seq ?? this.#appliedSeq, entries: rows.length, reports, results };
    });
  }

  /** @returns null when nobody needs to know. */
  #apply(row: LogRow): Report | null {
    this.#continues(row);
    const entry = decodeEntry(row, (productId) => this.#tables.product(productId)?.detailJson ?? null);
    const { seq } = row;
    const ruled = this.#applyEntry(entry);
    const facts = [...this.#record(entry, ruled), ...ruled];
    const detailLost = row.kind === 'read' && entry.kind !== 'read';
    return facts.length === 0 && !detailLost ? null : { seq, facts, detailLost, failed: null };
  }

  /** Each entry once, in its order. */
  #continues({ seq }: LogRow): void {
    const { appliedSeq } = this.#tables.state();
    const expected = Math.max(appliedSeq, this.#appliedSeq) + 1;
    if (seq === expected) return;
    throw new StoreError('damaged', `the event log has entry ${seq} where ${expected} was expected`);
  }

  #applyEntry(entry: Entry): Fact[] {
    const facts: Fact[] = [];
    // What changed will change again. Reads go through the whole catalogue.
    this.#tables.touchFor({ isLasting: entry.kind === 'delivery' });
    applyEntry(this.#tables, entry, (fact) => {
      this.#count(fact);
      if (isNotable(fact)) facts.push(fact);
    });
    return facts;
  }

  #transact<T>(work: () => T): T {
    this.#rollBack();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      if (this.#mustReload) {
        this.#tables.reload();
        this.#mustReload = false;
      }
      const result = work();
      this.#tables.flush();
      this.#db.exec('COMMIT');
      this.#appliedSeq = Math.max(this.#appliedSeq, this.#tables.state().appliedSeq);
      return result;
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

  /** A commit that failed may be there all the same. */
  #reload(): void {
    this.#rollBack();
    this.#tables.reload();
    this.#appliedSeq = this.#tables.state().appliedSeq;
    this.#mustReload = false;
  }

  /** SQLite rolls back by itself on some errors; a failed COMMIT may leave the transaction open. */
  #rollBack(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
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

/** @throws StoreError when the input is not at fault. */
function problemOf(error: unknown): string {
  if (!isFaultOfInput(error)) throw failureOf(error);
  return messageOf(error);
}

/** Not the disk and not the lock: the same input would fail again, and its neighbours would not. */
function isFaultOfInput(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  const code = sqliteCode(error);
  return code === null || code.startsWith('SQLITE_CONSTRAINT');
}
