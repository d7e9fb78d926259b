/** How much the inbox holds, and how far the mirror is behind it. The query thread has its file attached. */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

/** Two subqueries: SQLite finds one end by the index, and both at once by reading all of it. */
const ENDS = 'SELECT (SELECT min(seq) FROM inbox) AS first, (SELECT max(seq) FROM inbox) AS last';

/** null: the inbox is empty. */
export function inboxEnds(db: Db): { readonly first: number; readonly last: number } | null {
  const found = prepared<[], { readonly first: number | null; readonly last: number | null }>(db, ENDS).get();
  if (found === undefined || found.first === null || found.last === null) return null;
  return { first: found.first, last: found.last };
}

export interface Lag {
  /** Deliveries that are on disk and not yet applied. */
  readonly deliveries: number;
  /** When the first of them arrived; null: there is none. */
  readonly sinceMs: number | null;
}

const LAG = `
  SELECT count(*) AS deliveries, min(arrived_at_ms) AS sinceMs FROM inbox
  WHERE seq > (SELECT inbox_seq FROM mirror_state)`;

export function lag(db: Db): Lag {
  return prepared<[], Lag>(db, LAG).get() ?? { deliveries: 0, sinceMs: null };
}
