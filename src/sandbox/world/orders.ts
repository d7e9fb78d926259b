import type { z } from 'zod';
import type { createOrderRequestSchema, ShippingType } from '../../store-api/contract/order-schemas.ts';
import type { StoredAddress } from './address-book.ts';
import { dropOldest } from './drop-oldest.ts';
import type { StockLevel, Variant } from './model.ts';

export type NewOrder = z.output<typeof createOrderRequestSchema>;

/** The client id of the channel that made the order; null if it was keyed in by hand. */
export type Origin = string | null;

/** Refers to the stock level itself: a warehouse removed and added again holds nothing for the order. */
export interface OrderLine {
  readonly variant: Variant;
  readonly level: StockLevel;
  readonly qty: number;
}

/** One ordered item: a bundle as itself, while the order lines hold its components. */
export interface Ware {
  readonly variant: Variant;
  readonly qty: number;
}

export interface PricedLine extends Ware {
  readonly price: number | string;
}

/** One entry of an order's `shipments`. */
interface Shipment {
  readonly id: string;
  readonly shipping_type: ShippingType;
  readonly tracking_number: string;
  readonly create_time: number;
}

interface Terms {
  readonly origin: Origin;
  readonly request: NewOrder;
  readonly lines: readonly PricedLine[];
  readonly senderName: string;
  readonly sender: StoredAddress | undefined;
  readonly recipient: StoredAddress;
  readonly orderTimeMs: number;
  paidTimeMs: number | null;
  readonly shipments: Shipment[];
}

/** An open order reserves its stock until it is cancelled or shipped. */
export interface Order {
  readonly id: string;
  readonly lines: readonly OrderLine[];
  readonly wares: readonly Ware[];
  readonly createTimeMs: number;
  updateTimeMs: number;
  state: 'open' | 'shipped' | 'canceled';
  cancelReason: string | null;
  deleted: boolean;
  /** null: sold over the counter, so only its stock is known. */
  terms: Terms | null;
}

export interface PlacedOrder extends Order {
  readonly terms: Terms;
}

const COUNTER_SALES_KEPT = 10_000;

export class Orders {
  readonly #open = new Map<string, Order>();
  readonly #closed = new Map<string, Order>();
  readonly #placed = new Map<string, PlacedOrder>();
  readonly #external = new Map<Origin, Map<string, PlacedOrder>>();

  add(order: Order): void {
    this.#open.set(order.id, order);
  }

  /** Gives the order its terms; random traffic leaves it alone from now on. */
  place(order: Order, terms: Terms): PlacedOrder {
    const placed = Object.assign(order, { terms });
    this.#open.delete(order.id);
    this.#placed.set(order.id, placed);
    const { external_order_id: externalId } = terms.request;
    if (externalId !== undefined) {
      const ofOrigin = this.#external.get(terms.origin) ?? new Map<string, PlacedOrder>();
      this.#external.set(terms.origin, ofOrigin.set(externalId, placed));
    }
    return placed;
  }

  /** Any order that is not deleted; of the closed counter sales only the last 10,000. */
  find(id: string): Order | undefined {
    return live(this.#placed.get(id) ?? this.#open.get(id) ?? this.#closed.get(id));
  }

  /** Within the channel that made it. A deleted order's external id is free again. */
  findExternal(origin: Origin, externalId: string | undefined): PlacedOrder | undefined {
    return externalId === undefined ? undefined : live(this.#external.get(origin)?.get(externalId));
  }

  close(order: Order): void {
    if (!this.#open.delete(order.id)) return;
    this.#closed.set(order.id, order);
    if (this.#closed.size > COUNTER_SALES_KEPT) dropOldest(this.#closed);
  }

  /** How many open counter sales `at` can return. */
  get size(): number {
    return this.#open.size;
  }

  at(index: number): Order | undefined {
    return [...this.#open.values()][index];
  }
}

function live<T extends Order>(order: T | undefined): T | undefined {
  return order === undefined || order.deleted ? undefined : order;
}
