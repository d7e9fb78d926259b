/** Statements written by hand. */
import type { Statement } from 'better-sqlite3';
import type { Db } from './open.ts';

/** The columns of a statement: an SQL expression for each property of its rows. */
export type Columns<Row> = { readonly [Name in keyof Row]-?: string };

/**
 * Prepares a statement whose rows are objects. The compiler checks the names of the columns against the type
 * of the rows, and SQLite checks the expressions against the tables.
 * @param text receives the list of columns, for SELECT or RETURNING.
 */
export function prepareRows<P extends unknown[], Row>(
  db: Db,
  columns: Columns<Row>,
  text: (list: string) => string,
): Statement<P, Row> {
  const list = Object.entries<string>(columns).map(([name, expression]) => `${expression} AS "${name}"`);
  return db.prepare(text(list.join(', ')));
}

const byConnection = new WeakMap<Db, Map<string, Statement>>();

/**
 * Hides a parameter from the planner, which plans again when its value changes: three quarters of a short query's time.
 */
export function plannedOnce(sql: string): string {
  return sql.replaceAll(/('[^']*')|[?@]\w*/g, (found, text?: string) => text ?? `+${found}`);
}

/**
 * Prepares a statement once per connection, because preparing a short query costs more than running it.
 * @param sql one of a bounded number of texts: each stays prepared for the life of the connection.
 */
export function prepared<P extends unknown[] | object, R = unknown>(
  db: Db,
  sql: string,
): Statement<P extends unknown[] ? P : [P], R> {
  let statements = byConnection.get(db);
  if (statements === undefined) byConnection.set(db, (statements = new Map<string, Statement>()));
  let statement = statements.get(sql);
  if (statement === undefined) statements.set(sql, (statement = db.prepare(plannedOnce(sql))));
  return statement as Statement<P extends unknown[] ? P : [P], R>;
}

/** A query of one column: its rows are values. */
export function column<P extends unknown[] | object, V>(db: Db, sql: string) {
  return prepared<P, V>(db, sql).pluck() as Statement<P extends unknown[] ? P : [P], V>;
}

export function onlyRow<P extends unknown[], R>(query: Statement<P, R>, ...args: P): R {
  const row = query.get(...args);
  if (row === undefined)
    throw new Error(`no row, the database was changed by another program: ${query.source}`);
  return row;
}
