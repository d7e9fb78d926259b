import type { Change, RowKey, SellableRow } from './model.ts';
import { keyOf, toKey } from './row-key.ts';

/** `why_not` of a row whose later changes are still to come. */
const BEHIND = 'behind';

interface Changed {
  /** A page of the feed, in order. */
  readonly changes: readonly Change[];
  /** The present rows of its variants, read after the page. */
  readonly present: readonly SellableRow[];
  /** The number at which the page ends. */
  readonly seq: number;
}

interface RowsAt {
  readonly rows: readonly SellableRow[];
  readonly removed: readonly RowKey[];
}

/**
 * Rows as of the end of the page, from rows that may be later: a copy whose rows ran ahead of its changes would not add
 * up. Most totals have no rows in the feed, so a total is taken as it is.
 */
export function rowsAt({ changes, present, seq }: Changed): RowsAt {
  const last = new Map(changes.map((change) => [keyOf(change), change]));
  const rows: SellableRow[] = [];
  for (const row of present) {
    const change = last.get(keyOf(row));
    if (row.warehouse_id === null || row.change_seq <= seq) rows.push(row);
    else if (change !== undefined && change.new_qty !== null) {
      rows.push({
        ...row,
        available_qty: change.new_qty,
        trusted: 0,
        why_not: BEHIND,
        change_seq: change.seq,
      });
    }
  }
  const kept = new Set(rows.map(keyOf));
  const removed: RowKey[] = [];
  for (const change of last.values()) {
    if (change.new_qty === null && !kept.has(keyOf(change))) removed.push(toKey(change));
  }
  for (const variantId of new Set(changes.map(({ variant_id: id }) => id))) {
    const total = { variant_id: variantId, warehouse_id: null };
    // A variant whose warehouses are listed has no row of its total.
    if (!kept.has(keyOf(total)) && last.get(keyOf(total))?.new_qty !== null) removed.push(total);
  }
  return { rows, removed };
}
