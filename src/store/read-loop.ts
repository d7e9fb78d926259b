/** The work of the reader's thread: answers queries on a connection that cannot write. */
import { remedyFor } from './explain.ts';
import type { Db } from './open.ts';
import { queryOf, type Query } from './queries/by-name.ts';
import type { QueryName } from './queries/index.ts';
import type { Owner } from './thread.ts';
import type { Outcome } from './outcome.ts';

export interface ToReader {
  readonly id: number;
  /** Null: close. */
  readonly name: QueryName | null;
  readonly args: unknown;
}

/** Serves until asked to close, and then closes the connection. @param open called by the first query. */
export function serveReader(owner: Owner<ToReader, Outcome>, open: () => Db): void {
  let db: Db | null = null;
  owner.onMessage(({ id, name, args }) => {
    if (name === null) {
      db?.close();
      owner.post({ id, ok: true, value: null });
      owner.close();
      return;
    }
    const answer = (query: Query): void => {
      try {
        owner.post({ id, ok: true, value: query((db ??= open()), args) });
      } catch (error) {
        fail(error);
      }
    };
    const fail = (error: unknown): void => owner.post(failed(id, name, error));
    const query = queryOf(name);
    if (query instanceof Promise) query.then(answer, fail);
    else answer(query);
  });
}

function failed(id: number, name: QueryName, error: unknown): Outcome {
  const message = error instanceof Error ? error.message : String(error);
  const remedy = remedyFor(error);
  return {
    id,
    ok: false,
    error: {
      kind: 'unreachable',
      message: `database query ${name} failed: ${message}${remedy === null ? '' : `; ${remedy}`}`,
    },
  };
}
