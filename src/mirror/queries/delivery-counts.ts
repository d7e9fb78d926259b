import type { Db } from '../../sqlite/open.ts';
import { column } from '../../sqlite/prepared.ts';
import { inboxEnds } from './inbox.ts';

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
