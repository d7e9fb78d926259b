/** What the reader's thread does: answers questions on a connection that cannot write. */
import { remedyFor } from './explain.ts';
import type { Db } from './open.ts';
import { queries, type QueryName } from './queries/index.ts';
import type { Owner } from './thread.ts';
import type { Outcome } from './write-loop.ts';

export interface ToReader {
  readonly id: number;
  /** Null: close. */
  readonly name: QueryName | null;
  readonly args: unknown;
}

/** Serves until told to close, and then closes the connection. */
export function serveReader(owner: Owner<ToReader, Outcome>, db: Db): void {
  owner.onMessage(({ id, name, args }) => {
    let outcome: Outcome;
    try {
      if (name === null) db.close();
      const value =
        name === null ? null : (queries[name] as (db: unknown, args: unknown) => unknown)(db, args);
      outcome = { id, ok: true, value };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const remedy = remedyFor(error);
      outcome = {
        id,
        ok: false,
        error: {
          kind: 'unreachable',
          message: `query ${name} failed: ${message}${remedy === null ? '' : `; ${remedy}`}`,
        },
      };
    }
    owner.post(outcome);
    if (name === null) owner.close();
  });
}
