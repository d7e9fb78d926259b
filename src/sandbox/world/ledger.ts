import type { Clock } from './clock.ts';
import { available } from './model.ts';
import type { StockLevel, Change, Variant } from './model.ts';
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
  readonly level: StockLevel;
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
  move({ variant, level, cause, ...by }: Move): Change | null {
    this.#truth.touch(variant);
    const before = available(level);
    level.onHand += by.onHand ?? 0;
    level.reserved += by.reserved ?? 0;
    const after = available(level);
    if (after === before) return null;

    const updateTimeMs = by.stampMs ?? this.stamp(level);
    level.stampMs = Math.max(level.stampMs, updateTimeMs);
    return {
      productId: variant.product.id,
      variantId: variant.id,
      warehouseId: level.warehouseId,
      sku: variant.sku ?? '',
      old: before,
      new: after,
      updateTimeMs,
      ...cause,
    };
  }

  /** The `update_time` that a change of the stock level would get now. */
  stamp(level: StockLevel): number {
    const nowMs = this.#clock.stamp();
    // Times of one stock level never run backwards, unless the nodes' clocks differ.
    return this.#clock.nodeSkewMs === 0 ? Math.max(nowMs, level.stampMs) : nowMs;
  }
}
