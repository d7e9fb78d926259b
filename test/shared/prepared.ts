import type { Statement } from 'better-sqlite3';
import type { Db } from '../../src/sqlite/open.ts';

const byConnection = new WeakMap<Db, Map<string, Statement>>();

/** Prepares a statement once per connection. @param sql one of a bounded number of texts. */
export function prepared<P extends unknown[] | object, R = unknown>(
  db: Db,
  sql: string,
): Statement<P extends unknown[] ? P : [P], R> {
  let statements = byConnection.get(db);
  if (statements === undefined) byConnection.set(db, (statements = new Map<string, Statement>()));
  let statement = statements.get(sql);
  if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)));
  return statement as Statement<P extends unknown[] ? P : [P], R>;
}
