/**
 * Queries that drizzle puts together from the schema: it checks the names and knows the types of the rows. They are run as
 * all others are (prepared.ts), by the driver itself: drizzle would make each row anew from an array, which takes half as
 * long again as the query, and cannot leave off in the middle of a list.
 */
import type { SQL } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { fillPlaceholders, QueryBuilder, sql } from './drizzle.ts';
import type { Db } from './open.ts';
import { prepared } from './prepared.ts';

/** As SQLite gives it: nothing converts it, so an expression of another type is a mistake. */
type Value = string | number | null;
type Fields = Readonly<Record<string, SQLiteColumn | SQL<Value>>>;

/** `SELECT`, each field under its own name. */
export function select<F extends Fields>(fields: F) {
  const named = Object.entries(fields).map(([name, field]) => [name, sql`${field}`.as(name)]);
  // Whether a join leaves a field null is known by its column: so the type remains that of the columns.
  return new QueryBuilder().select(Object.fromEntries(named) as F);
}

/** By the placeholder's name. */
type Values = Readonly<Record<string, Value>>;

interface Built<Row> {
  readonly _: { readonly result: readonly Row[] };
  toSQL: () => { sql: string; params: unknown[] };
}

interface Typed<Row> {
  all: (db: Db, values?: Values) => Row[];
  get: (db: Db, values?: Values) => Row | undefined;
  /** Lazily: rows that are not taken are not computed. */
  iterate: (db: Db, values?: Values) => IterableIterator<Row>;
}

export type RowOf<Query> = Query extends Typed<infer Row> ? Row : never;

/** @param built its values are placeholders, given when it is run. */
export function typed<Row>(built: Built<Row>): Typed<Row> {
  const { sql: text, params } = built.toSQL();
  const statement = (db: Db) => prepared<unknown[], Row>(db, text);
  return {
    all: (db, values = {}) => statement(db).all(...fillPlaceholders(params, values)),
    get: (db, values = {}) => statement(db).get(...fillPlaceholders(params, values)),
    iterate: (db, values = {}) => statement(db).iterate(...fillPlaceholders(params, values)),
  };
}
