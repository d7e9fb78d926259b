import type { Clock } from './clock.ts';
import { available } from './model.ts';
import type { Cell, Change, Variant } from './model.ts';
import type { Truth } from './truth.ts';

export interface Cause {
  readonly reason: string;
  readonly orderId?: string;
  readonly userId?: string;
}

/** The change of a stock level; omitted figures stay. */
export interface Movement {
  readonly onHand?: number;
  readonly reserved?: number;
}

interface Move extends Movement {
  readonly variant: Variant;
  readonly cell: Cell;
  readonly cause: Cause;
  /** Sets the time, for several changes at one instant. */
  readonly stampMs?: number;
}

/** The one place where stock changes. */
export class Ledger {
  readonly #truth: Truth;
  readonly #clock: Clock;

  constructor({ truth, clock }: { readonly truth: Truth; readonly clock: Clock }) {
    this.#truth = truth;
    this.#clock = clock;
  }

  /**
   * Changes a stock level and returns the change of its available quantity; null when that stays the same, for which the
   * store sends nothing.
   */
  move({ variant, cell, cause, ...by }: Move): Change | null {
    this.#truth.touch(variant);
    const before = available(cell);
    cell.onHand += by.onHand ?? 0;
    cell.reserved += by.reserved ?? 0;
    const after = available(cell);
    if (after === before) return null;

    const updateTimeMs = by.stampMs ?? this.stamp(cell);
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
  }

  /** The `update_time` that a change of the stock level would get now. */
  stamp(cell: Cell): number {
    const nowMs = this.#clock.stamp();
    // Times of one stock level never run backwards, unless the nodes' clocks differ.
    return this.#clock.nodeSkewMs === 0 ? Math.max(nowMs, cell.stampMs) : nowMs;
  }
}
