import type { Clock } from './clock.ts';
import { available, type StockLevel, type Variant } from './model.ts';
import type { Truth } from './truth.ts';

/** One change as a webhook shows it. */
export interface SentItem {
  readonly id: string;
  /** Empty if the variant has none. */
  readonly sku: string;
  readonly old: number;
  readonly new: number;
  readonly warehouse_id: string;
  readonly update_time: number;
  readonly reason: string;
  /** At most one of the two actors is present. */
  readonly order_id?: string;
  readonly user_id?: string;
}

/** The reason of a change and its actor. */
export type Origin = Pick<SentItem, 'reason' | 'order_id' | 'user_id'>;

export interface Movement {
  readonly onHand?: number;
  readonly reserved?: number;
}

interface Place {
  readonly variant: Variant;
  readonly level: StockLevel;
  readonly origin: Origin;
}

export class Ledger {
  readonly #truth: Truth;
  readonly #clock: Clock;

  constructor({ truth, clock }: { readonly truth: Truth; readonly clock: Clock }) {
    this.#truth = truth;
    this.#clock = clock;
  }

  /** @param stampMs for several changes at one instant. @returns none if the available quantity stays the same. */
  move({
    stampMs,
    onHand = 0,
    reserved = 0,
    ...place
  }: Place & Movement & { readonly stampMs?: number | undefined }): SentItem[] {
    const { variant, level } = place;
    this.#truth.touch(variant);
    const old = available(level);
    level.onHand += onHand;
    level.reserved += reserved;
    if (available(level) === old) return [];
    const updateTimeMs = stampMs ?? this.stamp(level);
    level.stampMs = Math.max(level.stampMs, updateTimeMs);
    return [{ ...this.change({ ...place, old, new: available(level) }), update_time: updateTimeMs }];
  }

  change({ variant, level, origin, ...values }: Place & Pick<SentItem, 'old' | 'new'>): SentItem {
    return {
      id: variant.id,
      sku: variant.sku ?? '',
      ...values,
      warehouse_id: level.warehouseId,
      update_time: level.stampMs,
      ...origin,
    };
  }

  stamp(level: StockLevel): number {
    const nowMs = this.#clock.stamp();
    // Times of a stock level never run backwards, unless the nodes' clocks differ.
    return this.#clock.nodeSkewMs === 0 ? Math.max(nowMs, level.stampMs) : nowMs;
  }
}

const ORDER_REASONS = [
  'order_reserved',
  'order_edited',
  'order_canceled',
  'order_canceled_by_system',
  'available_qty_reconciled',
  'shipping_canceled',
];
const USER_REASONS = [
  'variant_created',
  'user_adjusted',
  'user_added',
  'returned',
  'purchased',
  'deposited',
  'user_deducted',
  'damaged',
  'lost',
  'withdrawn',
  'user_set',
  'stock_counted',
];

/** The actor of a reason ("Reason codes and actor field"); the others have none. */
export function actorOf(reason: string): 'order' | 'user' | undefined {
  if (ORDER_REASONS.includes(reason)) return 'order';
  return USER_REASONS.includes(reason) ? 'user' : undefined;
}
