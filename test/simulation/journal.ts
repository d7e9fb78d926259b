/** Records every applied input in a table `log`; a new epoch is a row between two inputs. */
import Database from 'better-sqlite3';
import type { Input } from '../../src/core/input.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { applyInput } from '../../src/core/apply/apply-input.ts';
import type { MirrorState } from '../../src/core/model.ts';
import type { InboxRow } from '../../src/inbox/inbox.ts';
import { SqliteTables } from '../../src/mirror/writer/sqlite-tables.ts';
import type { Work } from '../../src/mirror/writer/applier.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { parseDelivery } from '../../src/store-api/delivery.ts';
import { present } from '../shared/present.ts';

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

export class Journal {
  readonly db: Db = new Database(':memory:');
  works: Work[] = [];
  #reached: Reached = { inputSeq: 0, inboxSeq: 0 };
  readonly #insert;

  constructor() {
    this.db.exec(
      'CREATE TABLE log (seq REAL PRIMARY KEY, kind TEXT, at_ms INTEGER, inbox_seq INTEGER, payload BLOB)',
    );
    this.#insert = this.db.prepare('INSERT OR REPLACE INTO log VALUES (?, ?, ?, ?, ?)');
  }

  opened(mirror: Db, isNewEpoch: boolean): void {
    this.#reached = reachedIn(mirror);
    const { inputSeq } = this.#reached;
    this.db.prepare('DELETE FROM log WHERE seq > ?').run(inputSeq + (isNewEpoch ? 0 : 0.5));
    if (!isNewEpoch) return;
    const state = mirror
      .prepare(
        'SELECT change_seq AS changeSeq, inbox_seq AS inboxSeq, trusted_after_ms AS trustedAfterMs FROM mirror_state',
      )
      .get();
    this.#insert.run(inputSeq + 0.5, 'epoch', 0, null, Buffer.from(JSON.stringify(state)));
  }

  commit(mirror: Db, inbox: Db): void {
    const after = reachedIn(mirror);
    let seq = this.#reached.inputSeq;
    const rows = inbox
      .prepare<[number, number], InboxRow>(
        'SELECT seq, arrived_at_ms AS arrivedAtMs, body FROM inbox WHERE seq > ? AND seq <= ? ORDER BY seq',
      )
      .all(this.#reached.inboxSeq, after.inboxSeq);
    for (const row of rows) this.#insert.run(++seq, 'delivery', row.arrivedAtMs, row.seq, row.body);
    while (seq < after.inputSeq) {
      const work = present(this.works.shift());
      if (work.kind !== 'input') continue;
      const { kind, atMs } = work.input;
      this.#insert.run(++seq, kind, atMs, null, Buffer.from(JSON.stringify(work.input)));
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
      .prepare<[], JournalRow & { inboxSeq: number }>(
        'SELECT seq, kind, at_ms AS atMs, inbox_seq AS inboxSeq, payload FROM log ORDER BY seq',
      )
      .all();
    into.transaction(() => {
      for (const row of rows) {
        if (row.kind === 'epoch') {
          tables.putState({
            ...tables.state(),
            ...(JSON.parse(row.payload.toString()) as Partial<MirrorState>),
          });
          continue;
        }
        const input = inputOf(row);
        const facts: Fact[] = [];
        applyInput(tables, input, (fact) => facts.push(fact));
        const inboxSeq = input.kind === 'delivery' ? input.inboxSeq : tables.state().inboxSeq;
        tables.putState({ ...tables.state(), appliedSeq: row.seq, inboxSeq });
        each(tables, input, facts);
      }
      tables.flush();
    })();
  }
}

function inputOf({ kind, atMs, payload, inboxSeq }: JournalRow & { readonly inboxSeq: number }): Input {
  if (kind === 'delivery') return { kind, inboxSeq, atMs, ...parseDelivery(payload) };
  return JSON.parse(payload.toString()) as Input;
}

function reachedIn(mirror: Db): Reached {
  return present(
    mirror
      .prepare<[], Reached>('SELECT applied_seq AS inputSeq, inbox_seq AS inboxSeq FROM mirror_state')
      .get(),
  );
}
