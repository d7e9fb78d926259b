/** Writes rows of one table, naming only the changed columns: SQLite rewrites every index that a SET names. */
import type { Statement } from 'better-sqlite3';
import type { Db } from '../../sqlite/open.ts';
import type { Columns } from '../../sqlite/prepared.ts';
import type { TableName } from '../file/statements.ts';

type Value = string | number | Uint8Array | null;

interface Column<Row> {
  readonly isEqual: string;
  readonly of: keyof Row & string;
}

export class RowWriter<Row extends object> {
  readonly #db: Db;
  readonly #table: TableName;
  readonly #columns: readonly Column<Row>[];
  readonly #key: readonly Column<Row>[];
  readonly #others: readonly Column<Row>[];
  readonly #insert: Statement<Value[]>;
  /** By the changed columns of `#others`, as bits. Few combinations occur. */
  readonly #updates = new Map<number, Statement<Value[]>>();

  /** @param columns at most 31 of them outside the key. @param key the primary key. */
  constructor(db: Db, table: TableName, columns: Columns<Row>, key: readonly (keyof Row)[]) {
    this.#db = db;
    this.#table = table;
    this.#columns = Object.entries<string>(columns).map(([property, name]) => ({
      isEqual: `${name} = ?`,
      of: property as keyof Row & string,
    }));
    this.#key = this.#columns.filter((column) => key.includes(column.of));
    this.#others = this.#columns.filter((column) => !key.includes(column.of));
    const names = Object.values<string>(columns);
    // Positional: named parameters cost more than the insert itself.
    this.#insert = db.prepare(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    );
  }

  insert(row: Row): void {
    this.#insert.run(...this.#columns.map(({ of }) => value(row[of])));
  }

  update(stored: Row, row: Row): void {
    const values: Value[] = [];
    let changed = 0;
    for (let bit = 0; bit < this.#others.length; bit += 1) {
      const { of } = this.#others[bit] as Column<Row>;
      if (stored[of] === row[of]) continue;
      changed |= 1 << bit;
      values.push(value(row[of]));
    }
    if (changed === 0) return;
    for (const { of } of this.#key) values.push(value(row[of]));
    let statement = this.#updates.get(changed);
    if (statement === undefined) {
      const equal = (columns: readonly Column<Row>[]) => columns.map(({ isEqual }) => isEqual);
      const set = equal(this.#others.filter((_, bit) => (changed & (1 << bit)) !== 0)).join(', ');
      const where = equal(this.#key).join(' AND ');
      statement = this.#db.prepare(`UPDATE ${this.#table} SET ${set} WHERE ${where}`);
      this.#updates.set(changed, statement);
    }
    statement.run(...values);
  }
}

/** SQLite has no booleans. */
function value(of: unknown): Value {
  return typeof of === 'boolean' ? Number(of) : (of as Value);
}
