/**
 * Queries that drizzle builds from the schema: it checks the names, and the types of the rows follow from
 * them. better-sqlite3 runs the text like any other statement: through drizzle's driver, which copies each row, cannot
 * iterate and binds every value, a row by its key takes five times as long, and a thousand rows take four times as long.
 */
import type { Statement } from 'better-sqlite3';
import type { Placeholder as PlaceholderOf, SQL, SQLWrapper } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { is, Placeholder, QueryBuilder, sql, SQLiteSyncDialect } from './drizzle.ts';
import type { Db } from './open.ts';
import { onlyRow } from './prepared.ts';

type Fields = Readonly<Record<string, SQLiteColumn | SQL | SQL.Aliased>>;

/** Begins a query whose rows have the names of `fields`. */
export function select<F extends Fields>(fields: F) {
  const named = Object.entries(fields).map(([name, field]) => [name, sql`${field}`.as(name)] as const);
  // The columns themselves are the type, because they say what a left join makes nullable.
  return new QueryBuilder().select(Object.fromEntries(named) as unknown as F);
}

/** The query that `select` has built. */
export interface Built<Row> extends SQLWrapper {
  readonly _: { readonly result: readonly Row[] };
}

/** A parameter of the query for each property. */
export type Params<Args> = { readonly [Name in keyof Args]: PlaceholderOf };

type Bound<Args> = [keyof Args] extends [never] ? [] : [args: Args];

export interface Query<Args, Row> {
  all(db: Db, ...args: Bound<Args>): Row[];
  get(db: Db, ...args: Bound<Args>): Row | undefined;
  /** For a query that always finds a row. @throws Error if it finds none. */
  one(db: Db, ...args: Bound<Args>): Row;
  /** Computes no row before it is taken. */
  iterate(db: Db, ...args: Bound<Args>): IterableIterator<Row>;
}

export type RowOf<Q> = Q extends Query<never, infer Row> ? Row : never;

/** @param build is called once, on first use. Every value except the parameters becomes part of the text. */
export function query<Row, Args = object>(build: (params: Params<Args>) => Built<Row>): Query<Args, Row> {
  return queryOf(build, (statement: Statement<unknown[], Row>) => statement);
}

/** A query of one column: its rows are values. */
export function queryColumn<Value, Args = object>(
  build: (params: Params<Args>) => Built<Readonly<Record<string, Value>>>,
): Query<Args, Value> {
  return queryOf(build, (statement: Statement<unknown[], Value>) => statement.pluck());
}

function queryOf<Row, Args>(
  build: (params: Params<Args>) => SQLWrapper,
  configure: (statement: Statement<unknown[], Row>) => Statement<unknown[], Row>,
): Query<Args, Row> {
  let text: string | null = null;
  const byConnection = new WeakMap<Db, Statement<unknown[], Row>>();
  const statement = (db: Db): Statement<unknown[], Row> => {
    let prepared = byConnection.get(db);
    if (prepared === undefined) {
      text ??= textOf(build(PARAMETERS as Params<Args>));
      prepared = configure(db.prepare<unknown[], Row>(text));
      byConnection.set(db, prepared);
    }
    return prepared;
  };
  return {
    all: (db, ...args) => statement(db).all(...args),
    get: (db, ...args) => statement(db).get(...args),
    one: (db, ...args) => onlyRow(statement(db), ...args),
    iterate: (db, ...args) => statement(db).iterate(...args),
  };
}

const PARAMETERS = new Proxy({}, { get: (_, name) => sql.placeholder(String(name)) });

/**
 * Names the parameters, so that their order does not matter. The sign hides a parameter from the planner, which plans
 * again when its value changes: three quarters of a short query's time.
 */
class Dialect extends SQLiteSyncDialect {
  override escapeParam(_index: number, value?: unknown): string {
    if (!is(value, Placeholder)) throw new Error(`a value outside the text: ${String(value)}`);
    return `+@${value.name}`;
  }
}

/**
 * Values are written into the text, because SQLite uses a partial index only if it sees the values of its
 * condition.
 */
function textOf(built: SQLWrapper): string {
  return new Dialect().sqlToQuery(built.getSQL().inlineParams()).sql;
}

/** A truth value as SQLite has it. */
export type Flag = 0 | 1;

/** 1 if the condition holds. It must not be null. */
export function flag(condition: SQLWrapper): SQL<Flag> {
  return sql<Flag>`${condition}`;
}

/** @returns the row with these flags as booleans. */
export function withBooleans<Row extends object, Name extends keyof Row>(
  row: Row,
  ...names: readonly Name[]
): Omit<Row, Name> & Record<Name, boolean> {
  const copy = { ...row } as Record<keyof Row, unknown>;
  for (const name of names) copy[name] = row[name] === 1;
  return copy as Omit<Row, Name> & Record<Name, boolean>;
}

/** The value of a query of one column, of its first row; null without a row. */
export function scalar<T>(built: Built<Readonly<Record<string, T>>>): SQL<T | null> {
  return sql<T | null>`${built}`;
}

type Source = SQLiteTable | SQL;

export function countOf(table: Source, condition: SQL | undefined): SQL<number> {
  return sql<number>`(select count(*) from ${table} where ${condition})`;
}

export function existsIn(table: Source, condition: SQL | undefined): SQL<Flag> {
  return sql<Flag>`exists (select 1 from ${table} where ${condition})`;
}

/** To select from the ids of a JSON array, which `LISTED_ID` names. */
export function listOf(idsJson: PlaceholderOf): SQL {
  return sql`json_each(${idsJson}) as listed`;
}

export const LISTED_ID = sql<string>`listed.value`;

export function isListed(column: SQLiteColumn, idsJson: PlaceholderOf): SQL {
  return sql`${column} in (select value from json_each(${idsJson}))`;
}
