/** How far the tables are behind the event log. */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

export interface Lag {
  /** Entries that are on disk and not yet applied. */
  readonly entries: number;
  /** When the first of them came; null: there is none. */
  readonly sinceMs: number | null;
}

const LAG = `
  SELECT coalesce((SELECT max(seq) FROM log) - m.applied_seq, 0) AS entries,
    (SELECT at_ms FROM log WHERE seq > m.applied_seq ORDER BY seq LIMIT 1) AS sinceMs
  FROM mirror_state m`;

/** @param db a connection with the event log attached. */
export function lag(db: Db): Lag {
  const found = prepared<[], Lag>(db, LAG).get();
  if (found === undefined)
    throw new Error('mirror_state has no row: the database was changed by another program');
  return { entries: Math.max(0, found.entries), sinceMs: found.sinceMs };
}
