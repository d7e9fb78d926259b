import type { Clock } from './clock.ts';
import { available } from './model.ts';
import type { Cell, Change, Variant } from './model.ts';
import type { Truth } from './truth.ts';

export type Cause = { reason: string; orderId?: string; userId?: string };

/** The change of a stock level; omitted figures stay. */
export type Movement = { onHand?: number; reserved?: number };

export type Ledger = {
  /**
   * Changes a stock level and returns the change of its available quantity; null when that stays the same, for which the
   * store sends nothing. `stampMs` sets the time, for several changes at one instant.
   */
  move(variant: Variant, cell: Cell, by: Movement, cause: Cause, stampMs?: number): Change | null;
  /** The `update_time` that a change of the stock level would get now. */
  stamp(cell: Cell): number;
};

/** The one place where stock changes. */
export function createLedger(deps: { truth: Truth; clock: Clock }): Ledger {
  const { truth, clock } = deps;

  const stamp = (cell: Cell): number =>
    // Times of one stock level never run backwards, unless the nodes' clocks differ.
    clock.nodeSkewMs === 0 ? Math.max(clock.stamp(), cell.stampMs) : clock.stamp();

  return {
    stamp,
    move: (variant, cell, by, cause, stampMs) => {
      truth.touch(variant);
      const before = available(cell);
      cell.onHand += by.onHand ?? 0;
      cell.reserved += by.reserved ?? 0;
      const after = available(cell);
      if (after === before) return null;

      const updateTimeMs = stampMs ?? stamp(cell);
      cell.stampMs = Math.max(cell.stampMs, updateTimeMs);
      return {
        productId: variant.product.id,
        variantId: variant.id,
        warehouseId: cell.warehouseId,
        sku: variant.sku ?? '',
        old: before,
        new: after,
        updateTimeMs,
        ...cause,
      };
    },
  };
}
