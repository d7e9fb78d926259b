import type { Db } from '../../sqlite/open.ts';
import { column, onlyRow, prepared } from '../../sqlite/prepared.ts';

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

export interface DeliveryCounts {
  /** Arrival of the oldest row; null if the inbox is empty. */
  readonly knownFromMs: number | null;
  readonly counts: readonly number[];
}

/** Counts deliveries in each of `slots` periods of `slotMs` from `fromMs`, without reading the whole inbox. */
export function deliveryCounts(
  db: Db,
  args: { readonly fromMs: number; readonly slotMs: number; readonly slots: number },
): DeliveryCounts {
  const { fromMs, slotMs, slots } = args;
  const ends = inboxEnds(db);
  if (ends === null) return { knownFromMs: null, counts: new Array<number>(slots).fill(0) };
  const arrival = column<[number], number>(db, 'SELECT arrived_at_ms FROM inbox WHERE seq = ?');
  const atMs = (seq: number): number => arrival.get(seq) ?? Number.NEGATIVE_INFINITY;
  /** The first row from `low` on that arrived at `ms` or later. */
  const find = (low: number, ms: number): number => {
    let high = ends.last + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (atMs(middle) < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  let begin = find(ends.first, fromMs);
  const counts = Array.from({ length: slots }, (_, slot) => {
    const end = find(begin, fromMs + (slot + 1) * slotMs);
    const count = end - begin;
    begin = end;
    return count;
  });
  return { knownFromMs: Math.max(fromMs, atMs(ends.first)), counts };
}
