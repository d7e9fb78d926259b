/** Records every applied input in a table `log`; an opening of the mirror is a row between two inputs. */
import Database from 'better-sqlite3';
import type { Input } from '../../src/core/input.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { applyInput } from '../../src/core/apply/apply-input.ts';
import type { MirrorStateRow } from '../../src/core/model.ts';
import type { InboxRow } from '../../src/inbox/inbox-file.ts';
import { readMissed } from '../../src/inbox/missed.ts';
import { bringInstantsBack } from '../../src/mirror/file/instants.ts';
import { CLOCK_BACK_MS } from '../../src/mirror/new-epoch.ts';
import { SqliteTables } from '../../src/mirror/writer/sqlite-tables.ts';
import type { Task } from '../../src/mirror/writer/applier.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { parseDelivery } from '../../src/store-api/delivery.ts';
import { prepared } from '../shared/prepared.ts';
import { present } from '../shared/present.ts';

/** How a new epoch judges the instants in the file that it keeps. */
export interface EpochClocks {
  /** The clock in the file; null if it has none. */
  readonly clockMs: number | null;
  /** The clock that opened it. */
  readonly nowMs: number;
}

interface Reached {
  readonly inputSeq: number;
  readonly inboxSeq: number;
}

interface JournalRow {
  readonly seq: number;
  readonly kind: string;
  readonly atMs: number;
  readonly payload: Buffer;
}

export type JournalCopy = readonly {
  readonly seq: number;
  readonly kind: string;
  readonly at_ms: number;
  readonly inbox_seq: number | null;
  readonly payload: Buffer;
  readonly epoch: string | null;
}[];

const OPENINGS: ReadonlySet<string> = new Set(['epoch', 'continued']);
/** Openings lie between two inputs: several epochs may begin before the next input. */
const OPENING_STEP = 1 / 1_024;

export class Journal {
  readonly db: Db = new Database(':memory:');
  tasks: Task[] = [];
  #reached: Reached = { inputSeq: 0, inboxSeq: 0 };
  readonly #insert;

  constructor() {
    this.db.exec(
      'CREATE TABLE log (seq REAL PRIMARY KEY, kind TEXT, at_ms INTEGER, inbox_seq INTEGER, payload BLOB, epoch TEXT)',
    );
    this.#insert = this.db.prepare('INSERT OR REPLACE INTO log VALUES (?, ?, ?, ?, ?, ?)');
  }

  /**
   * @param before the epoch of the file that was opened: what came after its beginning is not in the file. null if it has none.
   * @param clocks null if the mirror continues.
   */
  opened(mirror: Db, before: string | null, clocks: EpochClocks | null): void {
    this.#reached = reachedIn(mirror);
    const { inputSeq } = this.#reached;
    this.db
      .prepare<[number, string | null]>(
        'DELETE FROM log WHERE seq > max(?, coalesce((SELECT max(seq) FROM log WHERE epoch = ?), 0))',
      )
      .run(inputSeq, before);
    const { untoldJson, ...row } = present(
      mirror
        .prepare<[], Omit<JournalOpening['state'], 'untold'> & { readonly untoldJson: string | null }>(
          `SELECT
           change_seq AS changeSeq,
           inbox_seq AS inboxSeq,
           trusted_after_ms AS trustedAfterMs,
           way_in AS wayIn,
           way_in_since_ms AS wayInSinceMs,
           last_webhook_at_ms AS lastWebhookAtMs,
           untold_json AS untoldJson
         FROM mirror_state`,
        )
        .get(),
    );
    const untold = untoldJson === null ? null : (JSON.parse(untoldJson) as MirrorStateRow['untold']);
    const state: JournalOpening['state'] = { ...row, untold };
    const lastSeq = this.db.prepare<[], number | null>('SELECT max(seq) FROM log').pluck().get();
    const epoch = mirror.prepare<[], string>('SELECT epoch FROM service_state').pluck().get();
    this.#insert.run(
      Math.max(inputSeq, lastSeq ?? 0) + OPENING_STEP,
      clocks === null ? 'continued' : 'epoch',
      0,
      null,
      Buffer.from(JSON.stringify({ state, clocks })),
      clocks === null ? null : epoch,
    );
  }

  copy(): JournalCopy {
    return this.db.prepare<[], JournalCopy[number]>('SELECT * FROM log').all();
  }

  /** The mirror's file is as it was when the copy was made. */
  restore(copy: JournalCopy): void {
    this.db.exec('DELETE FROM log');
    for (const { seq, kind, at_ms, inbox_seq, payload, epoch } of copy)
      this.#insert.run(seq, kind, at_ms, inbox_seq, payload, epoch);
  }

  commit(mirror: Db, inbox: Db): void {
    const after = reachedIn(mirror);
    let seq = this.#reached.inputSeq;
    const rows = prepared<[number, number], InboxRow>(
      inbox,
      'SELECT seq, kind, arrived_at_ms AS arrivedAtMs, body FROM inbox WHERE seq > ? AND seq <= ? ORDER BY seq',
    ).all(this.#reached.inboxSeq, after.inboxSeq);
    for (const row of rows) this.#insert.run(++seq, row.kind, row.arrivedAtMs, row.seq, row.body, null);
    while (seq < after.inputSeq) {
      const task = present(this.tasks.shift());
      if (task.kind !== 'input') continue;
      const { kind, atMs } = task.input;
      this.#insert.run(++seq, kind, atMs, null, Buffer.from(JSON.stringify(task.input)), null);
    }
    this.#reached = after;
  }

  /** Applies all inputs again. @param into an empty mirror. */
  replay(
    into: Db,
    each: (tables: SqliteTables, input: Input, facts: readonly Fact[]) => void = () => undefined,
  ): void {
    const tables = new SqliteTables(into);
    const rows = this.db
      .prepare<[], JournalRow & { inboxSeq: number | null }>(
        'SELECT seq, kind, at_ms AS atMs, inbox_seq AS inboxSeq, payload FROM log ORDER BY seq',
      )
      .all();
    into.transaction(() => {
      for (const row of rows) {
        if (OPENINGS.has(row.kind)) {
          open(into, tables, JSON.parse(row.payload.toString()) as JournalOpening);
          continue;
        }
        const input = inputOf(row);
        const facts: Fact[] = [];
        applyInput(tables, input, (fact) => facts.push(fact));
        const inboxSeq = row.inboxSeq ?? tables.state().inboxSeq;
        tables.putState({ ...tables.state(), appliedSeq: row.seq, inboxSeq });
        each(tables, input, facts);
      }
      tables.flush();
    })();
  }
}

interface JournalOpening {
  readonly state: Partial<MirrorStateRow>;
  /** null if the mirror continues. */
  readonly clocks: EpochClocks | null;
}

/** As the start rule does, so that barrier, and instants of a clock that was ahead, are the same again. */
function open(into: Db, tables: SqliteTables, { state, clocks }: JournalOpening): void {
  tables.flush();
  if (clocks !== null) {
    into.prepare('UPDATE service_state SET clock_ms = ?').run(clocks.clockMs);
    bringInstantsBack(into, clocks.nowMs + CLOCK_BACK_MS, clocks.nowMs);
  }
  tables.reload();
  tables.putState({ ...tables.state(), ...state });
}

function inputOf(row: JournalRow & { readonly inboxSeq: number | null }): Input {
  const { kind, atMs, payload, inboxSeq } = row;
  if (kind === 'delivery' || kind === 'test') {
    const isTest = kind === 'test';
    return { kind: 'delivery', inboxSeq: inboxSeq ?? 0, atMs, isTest, ...parseDelivery(payload) };
  }
  if (kind === 'missed' && inboxSeq !== null) return { kind, atMs, ...readMissed(payload, atMs) };
  return JSON.parse(payload.toString()) as Input;
}

function reachedIn(mirror: Db): Reached {
  return present(
    prepared<[], Reached>(
      mirror,
      'SELECT applied_seq AS inputSeq, inbox_seq AS inboxSeq FROM mirror_state',
    ).get(),
  );
}
