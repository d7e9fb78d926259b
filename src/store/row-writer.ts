/** Writes one table's rows with as little as they need: SQLite rewrites every index that a SET names, changed or not. */
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { getTableColumns, getTableName } from './drizzle.ts';
import type { Db } from './open.ts';

type Value = string | number | Uint8Array | null;
type Statement = ReturnType<Db['prepare']>;

interface Column<Row> {
  /** Among the table's. */
  readonly place: number;
  readonly name: string;
  readonly of: keyof Row & string;
}

export class RowWriter<Row extends object> {
  readonly #db: Db;
  readonly #table: string;
  readonly #columns: readonly Column<Row>[];
  readonly #key: readonly Column<Row>[];
  readonly #others: readonly Column<Row>[];
  readonly #valuesOf: (row: object) => Value[];
  readonly #insert: Statement;
  /** By which of `#others` change, as bits. Few combinations ever occur. */
  readonly #updates = new Map<number, Statement>();

  /** @param key the primary key. At most 31 columns may stand beside it. */
  constructor(db: Db, table: SQLiteTable, key: readonly (keyof Row)[]) {
    this.#db = db;
    this.#table = getTableName(table);
    this.#columns = Object.entries(getTableColumns(table)).map(([of, column], place) => ({
      place,
      name: column.name,
      of: of as keyof Row & string,
    }));
    this.#key = this.#columns.filter(({ of }) => key.includes(of));
    this.#others = this.#columns.filter(({ of }) => !key.includes(of));
    this.#valuesOf = reader(this.#columns.map(({ of }) => of));
    const names = this.#columns.map(({ name }) => `"${name}"`).join(', ');
    // By place: parameters by name cost more than the insert itself.
    const values = this.#columns.map(() => '?').join(', ');
    this.#insert = db.prepare(`INSERT INTO "${this.#table}" (${names}) VALUES (${values})`);
  }

  insert(row: Row): void {
    this.#insert.run(this.#valuesOf(row));
  }

  /** @param stored what the table holds; of the same key. */
  update(stored: Row, row: Row): void {
    const before = this.#valuesOf(stored);
    const after = this.#valuesOf(row);
    const values: Value[] = [];
    let changed = 0;
    this.#others.forEach(({ place }, bit) => {
      if (before[place] === after[place]) return;
      changed |= 1 << bit;
      values.push(after[place] ?? null);
    });
    if (changed === 0) return;
    for (const { place } of this.#key) values.push(after[place] ?? null);
    this.#updateOf(changed).run(values);
  }

  #updateOf(changed: number): Statement {
    let statement = this.#updates.get(changed);
    if (statement === undefined) {
      const equals = ({ name }: Column<Row>): string => `"${name}" = ?`;
      const set = this.#others.filter((_, bit) => (changed & (1 << bit)) !== 0);
      statement = this.#db.prepare(
        `UPDATE "${this.#table}" SET ${set.map(equals).join(', ')} WHERE ${this.#key.map(equals).join(' AND ')}`,
      );
      this.#updates.set(changed, statement);
    }
    return statement;
  }
}

/**
 * @param names properties, as the schema has them.
 * @returns what reads them of a row, in this order, as SQLite takes them. Compiled: V8 is slow at looking up one property
 * after the other by its name, and every row of every delivery passes here.
 */
function reader(names: readonly string[]): (row: object) => Value[] {
  if (!names.every((name) => /^\w+$/.test(name))) throw new Error(`not all are names: ${names.join(', ')}`);
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- of the schema's own names, and nothing else
  const read = new Function('row', `return [${names.map((name) => `row.${name}`).join(', ')}];`) as (
    row: object,
  ) => (Value | boolean)[];
  return (row) => {
    const values = read(row);
    values.forEach((value, i) => {
      if (typeof value === 'boolean') values[i] = Number(value);
    });
    return values as Value[];
  };
}
