/** How many deliveries came in each past period, without reading the whole inbox. */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { inboxEnds } from './inbox.ts';

export interface DeliveryCounts {
  /** Before this the inbox has nothing; null: it is empty. */
  readonly knownFromMs: number | null;
  /** From the first period on, as many as requested. */
  readonly counts: readonly number[];
}

/** @param args.fromMs begin of the first period. @param args.slots how many periods of `slotMs` each. */
export function deliveryCounts(
  db: Db,
  args: { readonly fromMs: number; readonly slotMs: number; readonly slots: number },
): DeliveryCounts {
  const { fromMs, slotMs, slots } = args;
  const ends = inboxEnds(db);
  if (ends === null) return { knownFromMs: null, counts: new Array<number>(slots).fill(0) };
  const arrival = prepared<[number], number>(db, 'SELECT arrived_at_ms FROM inbox WHERE seq = ?').pluck();
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
