/** How many deliveries came in each past period, without reading the whole inbox. */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

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
  const counts = new Array<number>(slots).fill(0);
  const edge = (sql: string): number | null => prepared<[], number | null>(db, sql).pluck().get() ?? null;
  const first = edge('SELECT min(seq) FROM inbox');
  const last = edge('SELECT max(seq) FROM inbox');
  if (first === null || last === null) return { knownFromMs: null, counts };
  const arrival = prepared<[number], number>(db, 'SELECT arrived_at_ms FROM inbox WHERE seq = ?').pluck();
  const atMs = (seq: number): number => arrival.get(seq) ?? Number.NEGATIVE_INFINITY;

  /**
   * The first position from `lo` on that is at or after `ms`; in growing steps, since the next period begins nearby.
   */
  const find = (lo: number, ms: number): number => {
    let step = 1;
    let low = lo;
    while (low + step <= last && atMs(low + step) < ms) {
      low += step;
      step *= 2;
    }
    let high = Math.min(last + 1, low + step);
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (atMs(middle) < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const firstAtMs = atMs(first);
  const firstSlot = Math.max(0, Math.floor((firstAtMs - fromMs) / slotMs));
  let lo = find(first, fromMs + firstSlot * slotMs);
  for (let slot = firstSlot; slot < slots && lo <= last; slot += 1) {
    const hi = find(lo, fromMs + (slot + 1) * slotMs);
    counts[slot] = hi - lo;
    lo = hi;
  }
  return { knownFromMs: Math.max(fromMs, firstAtMs), counts };
}
