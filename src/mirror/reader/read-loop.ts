/** The work of the reader's thread: answers queries on a connection that cannot write. */
import { damageOf, isDamage, type PlainError } from '../../sqlite/errors.ts';
import { remedyFor } from '../../sqlite/explain.ts';
import type { Db } from '../../sqlite/open.ts';
import { queryOf, type Query } from './query-by-name.ts';
import type { QueryName } from './queries.ts';
import type { Owner } from '../../platform/thread.ts';
import { messageOf } from '../../platform/thrown.ts';
import type { Outcome } from '../../sqlite/outcome.ts';

export type ToReader =
  | { readonly id: number; readonly type: 'query'; readonly name: QueryName; readonly args: unknown }
  | { readonly id: number; readonly type: 'close' };

/** Serves until asked to close, and then closes the connection. @param open called by the first query. */
export function serveReader(owner: Owner<ToReader, Outcome>, open: () => Db): void {
  let db: Db | null = null;
  owner.onMessage((message) => {
    const { id } = message;
    if (message.type !== 'query') {
      db?.close();
      db = null;
      owner.close();
      return;
    }
    const { name, args } = message;
    const answer = (query: Query): void => {
      try {
        owner.post({ id, ok: true, value: query((db ??= open()), args) });
      } catch (error) {
        fail(error);
      }
    };
    const fail = (error: unknown): void => owner.post({ id, ok: false, error: failed(name, error, db) });
    const query = queryOf(name);
    if (query instanceof Promise) query.then(answer, fail);
    else answer(query);
  });
}

/** An error of kind `damaged` when the mirror itself is, and not the event log beside it. */
function failed(name: QueryName, error: unknown, db: Db | null): PlainError {
  if (db !== null && isDamage(error) && isMirrorDamaged(db)) return damageOf(error);
  const message = messageOf(error);
  const remedy = remedyFor(error);
  return {
    kind: 'unreachable',
    message: `database query ${name} failed: ${message}${remedy === null ? '' : `; ${remedy}`}`,
  };
}

/** Reads all of it, which takes seconds where it is large. */
function isMirrorDamaged(db: Db): boolean {
  try {
    return db.pragma('main.quick_check(1)', { simple: true }) !== 'ok';
  } catch (error) {
    return isDamage(error);
  }
}
