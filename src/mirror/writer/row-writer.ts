/** Writes rows of one table, naming only the changed columns: SQLite rewrites every index that a SET names. */
import type { Statement } from 'better-sqlite3';
import { columnsOf } from '../file/statements.ts';
import type { Db } from '../../sqlite/open.ts';

type Value = string | number | Uint8Array | null;

interface Column<Row> {
  readonly name: string;
  readonly of: keyof Row & string;
}

export class RowWriter<Row extends object> {
  readonly #db: Db;
  readonly #table: string;
  readonly #key: readonly Column<Row>[];
  readonly #others: readonly Column<Row>[];
  readonly #valuesOf: (row: object) => Value[];
  readonly #keyOf: (row: object) => Value[];
  readonly #changesOf: Differ;
  readonly #insert: Statement<Value[]>;
  /** By the changed columns of `#others`, as bits. Few combinations occur. */
  readonly #updates = new Map<number, Statement<Value[]>>();

  /** @param key the primary key; at most 31 other columns. @param without columns written elsewhere. */
  constructor(db: Db, table: string, key: readonly (keyof Row)[], without: readonly string[] = []) {
    this.#db = db;
    this.#table = table;
    const columns = columnsOf(db, table, without).map(({ name, property }) => ({
      name,
      of: property as keyof Row & string,
    }));
    this.#key = columns.filter(({ of }) => key.includes(of));
    this.#others = columns.filter(({ of }) => !key.includes(of));
    this.#valuesOf = reader(columns.map(({ of }) => of));
    this.#keyOf = reader(this.#key.map(({ of }) => of));
    this.#changesOf = differ(this.#others.map(({ of }) => of));
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    // Positional: named parameters cost more than the insert itself.
    const values = columns.map(() => '?').join(', ');
    this.#insert = db.prepare(`INSERT INTO "${this.#table}" (${names}) VALUES (${values})`);
  }

  insert(row: Row): void {
    this.#insert.run(...this.#valuesOf(row));
  }

  update(stored: Row, row: Row): void {
    const values: Value[] = [];
    const changed = this.#changesOf(stored, row, values);
    if (changed === 0) return;
    this.#updateOf(changed).run(...values, ...this.#keyOf(row));
  }

  #updateOf(changed: number): Statement<Value[]> {
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

/** Compiled, because V8 is slow at looking up one property after another by name, and every row passes here. */
function reader(names: readonly string[]): (row: object) => Value[] {
  const body = `return [${names.map((name) => value(`row.${name}`)).join(', ')}];`;
  return compile(names, ['row'], body) as ReturnType<typeof reader>;
}

/** Adds the values that differ to `values`. @returns their columns, as bits. */
type Differ = (stored: object, row: object, values: Value[]) => number;

function differ(names: readonly string[]): Differ {
  const each = names.map(
    (name, bit) =>
      `if (stored.${name} !== row.${name}) { changed |= ${1 << bit}; values.push(${value(`row.${name}`)}); }`,
  );
  const body = `let changed = 0; ${each.join(' ')} return changed;`;
  return compile(names, ['stored', 'row', 'values'], body) as Differ;
}

/** SQLite has no booleans. */
function value(of: string): string {
  return `typeof ${of} === 'boolean' ? Number(${of}) : ${of}`;
}

function compile(names: readonly string[], parameters: readonly string[], body: string): unknown {
  if (!names.every((name) => /^\w+$/.test(name))) throw new Error(`not all are names: ${names.join(', ')}`);
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- only of the schema's own names
  return new Function(...parameters, body);
}
