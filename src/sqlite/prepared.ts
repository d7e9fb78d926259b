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

export function onlyRow<P extends unknown[], R>(query: Statement<P, R>, ...args: P): R {
  const row = query.get(...args);
  if (row === undefined)
    throw new Error(`no row, the database was changed by another program: ${query.source}`);
  return row;
}
