/** Applies inputs and commands. One transaction covers many, and stores the inbox position and input number reached. */
import type { Statement } from 'better-sqlite3';
import type { Fact } from '../../core/apply/fact.ts';
import { applyInput } from '../../core/apply/apply-input.ts';
import type { Input } from '../../core/input.ts';
import { explainInbox, type InboxRow } from '../../inbox/inbox-file.ts';
import { missedBody, readMissed } from '../../inbox/missed.ts';
import { messageOf } from '../../platform/thrown.ts';
import { sqliteCode, SqliteFault } from '../../sqlite/errors.ts';
import { explain } from '../../sqlite/explain.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepareRows } from '../../sqlite/prepared.ts';
import { transact } from '../../sqlite/transact.ts';
import { parseDelivery, type ParsedDelivery } from '../../store-api/delivery.ts';
import { OUTCOME_SEPARATOR } from '../file/state.ts';
import { prepareCommands, type CommandName, type Commands } from './commands.ts';
import { prepareRecords } from './records.ts';
import { SqliteTables } from './sqlite-tables.ts';

export type NewInput = Exclude<Input, { kind: 'delivery' }>;

export type Task =
  | { readonly kind: 'input'; readonly input: NewInput }
  | { readonly kind: 'command'; readonly name: CommandName; readonly args: unknown };

export interface AppliedInput {
  readonly seq: number;
  readonly facts: readonly Fact[];
}

export type Result =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: SqliteFault };

export interface AppliedPosition {
  readonly inboxSeq: number;
  readonly inputSeq: number;
  readonly changeSeq: number;
}

export interface Step {
  readonly reports: readonly AppliedInput[];
  /** Results of the tasks taken, in order. No task is taken while inbox rows are left. */
  readonly results: readonly Result[];
}

const ROWS_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 << 20;
const TASKS_AT_ONCE = 64;

export class Applier {
  readonly #db: Db;
  readonly #inbox: Db;
  readonly #tables: SqliteTables;
  readonly #commands: Commands;
  readonly #record: ReturnType<typeof prepareRecords>;
  readonly #putDelivery: Statement<[number, string]>;
  readonly #putPosition: Statement<[number]>;
  readonly #after: Statement<[number], InboxRow>;

  constructor(db: Db, inbox: Db) {
    this.#db = db;
    this.#inbox = inbox;
    this.#tables = new SqliteTables(db);
    this.#commands = prepareCommands(db, inbox);
    this.#record = prepareRecords(db);
    this.#putDelivery = db.prepare('INSERT OR REPLACE INTO deliveries (inbox_seq, outcomes) VALUES (?, ?)');
    this.#putPosition = db.prepare('UPDATE service_state SET inbox_row_at_ms = ?');
    this.#after = prepareRows<[number], InboxRow>(
      inbox,
      {
        seq: 'seq',
        kind: 'kind',
        arrivedAtMs: 'arrived_at_ms',
        body: 'body',
      },
      (columns) => `
        SELECT ${columns}
        FROM inbox
        WHERE seq > ?
        ORDER BY seq
        LIMIT ${ROWS_AT_ONCE}`,
    );
  }

  get position(): AppliedPosition {
    const { inboxSeq, appliedSeq, changeSeq } = this.#tables.state();
    return { inboxSeq, inputSeq: appliedSeq, changeSeq };
  }

  /** Tasks wait until every delivery that arrived is applied. @throws SqliteFault; then discard this applier. */
  step(tasks: readonly Task[]): Step | null {
    const { rows, isLast } = explainInbox(this.#inbox.name, () => this.#nextRows());
    const taken = isLast ? tasks.slice(0, TASKS_AT_ONCE) : [];
    if (rows.length === 0 && taken.length === 0) return null;
    return explain(this.#db.name, () => {
      try {
        return this.#transact(() => this.#apply(rows, taken));
      } catch (error) {
        if (!isFaultOfInput(error)) throw error;
        return this.#oneByOne(rows, taken);
      }
    });
  }

  #nextRows(): { rows: InboxRow[]; isLast: boolean } {
    const rows: InboxRow[] = [];
    let bytes = 0;
    for (const row of this.#after.iterate(this.#tables.state().inboxSeq)) {
      rows.push(row);
      bytes += row.body.byteLength;
      if (bytes >= BYTES_AT_ONCE) return { rows, isLast: false };
    }
    return { rows, isLast: rows.length < ROWS_AT_ONCE };
  }

  #apply(rows: readonly InboxRow[], tasks: readonly Task[]): Step {
    const reports: AppliedInput[] = [];
    for (const row of rows) this.#take(row, reports);
    const last = rows.at(-1);
    if (last !== undefined) this.#putPosition.run(last.arrivedAtMs);
    const results = tasks.map((task): Result => {
      if (task.kind === 'input') {
        const applied = this.#applyInput(task.input);
        if (applied.facts.length > 0) reports.push(applied);
        return { ok: true, value: applied };
      }
      this.#tables.flush();
      return { ok: true, value: (this.#commands[task.name] as (args: unknown) => unknown)(task.args) };
    });
    return { reports, results };
  }

  #take(row: InboxRow, reports: AppliedInput[]): void {
    if (row.kind === 'missed') this.#miss(row, reports);
    else this.#deliver(row, parseDelivery(row.body), reports);
  }

  #miss({ seq: inboxSeq, arrivedAtMs, body }: InboxRow, reports: AppliedInput[]): void {
    const facts: Fact[] = [];
    const missed = readMissed(body, arrivedAtMs);
    applyInput(this.#tables, { kind: 'missed', atMs: arrivedAtMs, ...missed }, (fact) => facts.push(fact));
    reports.push({ seq: this.#count({ inboxSeq }), facts });
  }

  /** For a row that the rules cannot apply: everything is read. */
  #missEverything(row: InboxRow, problem: string): readonly AppliedInput[] {
    const body = missedBody({ why: 'stream_gap', sinceMs: null, untilMs: row.arrivedAtMs, variantIds: null });
    return this.#transact(() => [this.#defect(problem), ...this.#apply([{ ...row, body }], []).reports]);
  }

  #oneByOne(rows: readonly InboxRow[], tasks: readonly Task[]): Step {
    const reports: AppliedInput[] = [];
    const results: Result[] = [];
    for (const row of rows) reports.push(...this.#deliverAlone(row));
    for (const task of tasks) {
      try {
        const step = this.#transact(() => this.#apply([], [task]));
        reports.push(...step.reports);
        results.push(...step.results);
      } catch (error) {
        const problem = problemOf(error);
        reports.push(this.#defect(problem));
        results.push({ ok: false, error: new SqliteFault('cannot_commit', problem, { cause: error }) });
      }
    }
    return { reports, results };
  }

  /** Authentic input is never lost, not even to a defect of this program: the products it names are read. */
  #deliverAlone(row: InboxRow): readonly AppliedInput[] {
    try {
      return this.#transact(() => this.#apply([row], []).reports);
    } catch (error) {
      const cause = problemOf(error);
      if (row.kind === 'missed') return this.#missEverything(row, cause);
      const problem = `not merged: ${cause}`;
      const deadLetter = (variantId: string | null) => ({ itemIndex: null, problem, variantId });
      const { requestId, changes } = parseDelivery(row.body);
      const named = [...new Set(changes.map(({ variantId }) => variantId))];
      const alone = (variantIds: readonly (string | null)[]): readonly AppliedInput[] =>
        this.#transact(() => {
          const reports: AppliedInput[] = [this.#defect(cause)];
          this.#putPosition.run(row.arrivedAtMs);
          this.#deliver(row, { requestId, changes: [], unreadable: variantIds.map(deadLetter) }, reports);
          return reports;
        });
      try {
        return alone(named.length === 0 ? [null] : named);
      } catch (again) {
        problemOf(again);
        return alone([null]);
      }
    }
  }

  #defect(problem: string): AppliedInput {
    return { seq: this.position.inputSeq, facts: [{ kind: 'defect', problem }] };
  }

  #deliver(
    { seq: inboxSeq, kind, arrivedAtMs }: InboxRow,
    parsed: ParsedDelivery,
    reports: AppliedInput[],
  ): void {
    const outcomes: string[] = [];
    const facts: Fact[] = [];
    const delivery = {
      kind: 'delivery',
      inboxSeq,
      atMs: arrivedAtMs,
      isTest: kind === 'test',
      ...parsed,
    } as const;
    applyInput(this.#tables, delivery, (fact) => {
      if (fact.kind === 'change') outcomes.push(fact.branch);
      if (isNotable(fact)) facts.push(fact);
    });
    const seq = this.#count({ inboxSeq });
    this.#putDelivery.run(inboxSeq, outcomes.join(OUTCOME_SEPARATOR));
    if (facts.length > 0) reports.push({ seq, facts });
  }

  #applyInput(input: NewInput): AppliedInput {
    const ruled: Fact[] = [];
    applyInput(this.#tables, input, (fact) => {
      if (isNotable(fact)) ruled.push(fact);
    });
    return { seq: this.#count({}), facts: [...this.#record(input, ruled), ...ruled] };
  }

  #count(reached: { readonly inboxSeq?: number }): number {
    const state = this.#tables.state();
    const appliedSeq = state.appliedSeq + 1;
    this.#tables.putState({ ...state, ...reached, appliedSeq });
    return appliedSeq;
  }

  #transact<T>(work: () => T): T {
    try {
      return transact(this.#db, () => {
        const result = work();
        this.#tables.flush();
        return result;
      });
    } catch (error) {
      this.#tables.reload();
      throw error;
    }
  }
}

function isNotable(fact: Fact): boolean {
  return fact.kind !== 'change' && fact.kind !== 'level';
}

/** @throws the error itself if the input is not at fault. */
function problemOf(error: unknown): string {
  if (!isFaultOfInput(error)) throw error;
  return messageOf(error);
}

/** Neither the disk nor a lock: the same input would fail again, and others would not. */
function isFaultOfInput(error: unknown): boolean {
  if (error instanceof SqliteFault) return false;
  const code = sqliteCode(error);
  return code === null || code.startsWith('SQLITE_CONSTRAINT');
}
