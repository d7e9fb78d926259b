/**
 * Statements prepared once per connection: preparing a query that runs several times a second costs more than running
 * it.
 */
import type { Statement } from 'better-sqlite3';
import type { Db } from './open.ts';

const byConnection = new WeakMap<Db, Map<string, Statement>>();

/**
 * For statements that run again and again. SQLite plans one anew whenever another value is bound to a parameter that
 * its planner has looked at, such as beside ORDER BY: three quarters of the time that a short query takes. A sign
 * hides the parameter from the planner, and changes nothing else.
 */
export function plannedOnce(sql: string): string {
  return sql.replaceAll(/[?@]\w*/g, '+$&');
}

/** @param sql one of a bounded number of texts: each stays prepared as long as the connection lives. */
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
