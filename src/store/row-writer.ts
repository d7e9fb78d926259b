/** Writes one table's rows with as little as they need: SQLite rewrites every index that a SET names, changed or not. */
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { getTableColumns, getTableName } from './drizzle.ts';
import type { Db } from './open.ts';

type Value = string | number | Uint8Array | null;
type Statement = ReturnType<Db['prepare']>;

interface Column<Row> {
  readonly name: string;
  readonly of: keyof Row;
}

export class RowWriter<Row extends object> {
  readonly #db: Db;
  readonly #table: string;
  readonly #columns: readonly Column<Row>[];
  readonly #key: readonly Column<Row>[];
  readonly #others: readonly Column<Row>[];
  readonly #insert: Statement;
  /** By which of `#others` change, as bits. Few combinations ever occur. */
  readonly #updates = new Map<number, Statement>();

  /** @param key the primary key. At most 31 columns may stand beside it. */
  constructor(db: Db, table: SQLiteTable, key: readonly (keyof Row)[]) {
    this.#db = db;
    this.#table = getTableName(table);
    this.#columns = Object.entries(getTableColumns(table)).map(([of, column]) => ({
      name: column.name,
      of: of as keyof Row,
    }));
    this.#key = this.#columns.filter(({ of }) => key.includes(of));
    this.#others = this.#columns.filter(({ of }) => !key.includes(of));
    const names = this.#columns.map(({ name }) => `"${name}"`).join(', ');
    // By place: parameters by name cost more than the insert itself.
    const values = this.#columns.map(() => '?').join(', ');
    this.#insert = db.prepare(`INSERT INTO "${this.#table}" (${names}) VALUES (${values})`);
  }

  insert(row: Row): void {
    this.#insert.run(this.#columns.map(({ of }) => valueOf(row[of])));
  }

  /** @param stored what the table holds; of the same key. */
  update(stored: Row, row: Row): void {
    let changed = 0;
    const values: Value[] = [];
    this.#others.forEach(({ of }, i) => {
      if (stored[of] === row[of]) return;
      changed |= 1 << i;
      values.push(valueOf(row[of]));
    });
    if (changed === 0) return;
    for (const { of } of this.#key) values.push(valueOf(row[of]));
    this.#updateOf(changed).run(values);
  }

  #updateOf(changed: number): Statement {
    let statement = this.#updates.get(changed);
    if (statement === undefined) {
      const set = this.#others.filter((_, i) => (changed & (1 << i)) !== 0);
      statement = this.#db.prepare(
        `UPDATE "${this.#table}" SET ${set.map(({ name }) => `"${name}" = ?`).join(', ')} ` +
          `WHERE ${this.#key.map(({ name }) => `"${name}" = ?`).join(' AND ')}`,
      );
      this.#updates.set(changed, statement);
    }
    return statement;
  }
}

function valueOf(value: unknown): Value {
  return typeof value === 'boolean' ? Number(value) : (value as Value);
}
