import type { z } from 'zod';
import type { createOrderRequestSchema } from '../../store-api/contract/order-schemas.ts';
import type { StoredAddress } from './address-book.ts';
import type { Shipment } from './courier.ts';
import type { Variant } from '../world/model.ts';
import type { Order, Orders } from '../world/orders.ts';

export type NewOrder = z.output<typeof createOrderRequestSchema>;

/** Where an order was made: through the API by the channel of this client id, or (null) by hand in the store. */
export type Origin = string | null;

export interface PricedLine {
  readonly variant: Variant;
  readonly qty: number;
  readonly price: number | string;
}

/** The terms of an order, besides its stock. */
export interface PlacedOrder {
  readonly stock: Order;
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

/** An order that only holds stock: sold over the counter, without further data. */
export type FoundOrder = PlacedOrder | { readonly stock: Order };

const KEPT_IN_SIGHT = 200;

export class OrderBook {
  readonly #orders: Orders;
  readonly #placed = new Map<string, PlacedOrder>();
  readonly #latest: PlacedOrder[] = [];
  readonly #external = new Map<Origin, Map<string, PlacedOrder>>();

  constructor({ orders }: { readonly orders: Orders }) {
    this.#orders = orders;
  }

  add(order: PlacedOrder): void {
    this.#placed.set(order.stock.id, order);
    this.#latest.push(order);
    if (this.#latest.length > KEPT_IN_SIGHT) this.#latest.shift();
    const { external_order_id: externalOrderId } = order.request;
    if (externalOrderId === undefined) return;
    const ofOrigin = this.#external.get(order.origin) ?? new Map<string, PlacedOrder>();
    this.#external.set(order.origin, ofOrigin.set(externalOrderId, order));
  }

  /** Store-wide. Undefined for every miss: unknown, or deleted. */
  find(id: string): FoundOrder | undefined {
    const stock = this.#orders.find(id);
    return live(this.#placed.get(id) ?? (stock && { stock }));
  }

  /** Within the channel that made it. A deleted order's external id is free again. */
  findExternal(origin: Origin, externalOrderId: string | undefined): PlacedOrder | undefined {
    if (externalOrderId === undefined) return undefined;
    return live(this.#external.get(origin)?.get(externalOrderId));
  }

  /** The latest orders that are not deleted, newest first; a limited number. */
  recent(count: number): PlacedOrder[] {
    return this.#latest
      .filter(({ stock }) => !stock.deleted)
      .slice(-count)
      .reverse();
  }
}

function live<T extends FoundOrder>(order: T | undefined): T | undefined {
  return order === undefined || order.stock.deleted ? undefined : order;
}
