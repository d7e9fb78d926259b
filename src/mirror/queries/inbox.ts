import type { Db } from '../../sqlite/open.ts';
import { onlyRow, prepared } from '../../sqlite/prepared.ts';

/** Two subqueries: SQLite finds each end by the index, but scans for both at once. */
const ENDS = 'SELECT (SELECT min(seq) FROM inbox) AS first, (SELECT max(seq) FROM inbox) AS last';

export function inboxEnds(db: Db): { readonly first: number; readonly last: number } | null {
  const { first, last } = onlyRow(prepared<[], { first: number | null; last: number | null }>(db, ENDS));
  return first === null || last === null ? null : { first, last };
}

export interface Lag {
  readonly deliveries: number;
  /** Arrival of the first; null if there is none. */
  readonly sinceMs: number | null;
}

const LAG = `
  SELECT count(*) AS deliveries, min(arrived_at_ms) AS sinceMs FROM inbox
  WHERE seq > (SELECT inbox_seq FROM mirror_state)`;

export function lag(db: Db): Lag {
  return onlyRow(prepared<[], Lag>(db, LAG));
}
