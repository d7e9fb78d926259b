import type { z } from 'zod';
import type { createOrderRequestSchema } from '../service/order-schemas.ts';
import type { StoredAddress } from './address-book.ts';
import type { Shipment } from './courier.ts';
import type { Variant } from './model.ts';
import type { Order, Orders } from './orders.ts';

export type NewOrder = z.output<typeof createOrderRequestSchema>;

/** Where an order was made: through the API by the channel of this client id, or (null) by hand in the store. */
export type Origin = string | null;

export type PricedLine = { readonly variant: Variant; readonly qty: number; readonly price: number | string };

/** The terms of an order, besides its stock. */
export type PlacedOrder = {
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
};

/** An order that only holds stock: sold over the counter, without further data. */
export type FoundOrder = PlacedOrder | { readonly stock: Order };

export type OrderBook = {
  add(order: PlacedOrder): void;
  /** Store-wide. Undefined for every miss: unknown, or deleted. */
  find(id: string): FoundOrder | undefined;
  /** Within the channel that made it. A deleted order's external id is free again. */
  findExternal(origin: Origin, externalOrderId: string): PlacedOrder | undefined;
  /** The latest orders that are not deleted, newest first; a limited number. */
  recent(count: number): PlacedOrder[];
};

const KEPT_IN_SIGHT = 200;

export function createOrderBook(deps: { orders: Orders }): OrderBook {
  const { orders } = deps;
  const placed = new Map<string, PlacedOrder>();
  const latest: PlacedOrder[] = [];
  const external = new Map<Origin, Map<string, PlacedOrder>>();

  const live = <T extends FoundOrder>(order: T | undefined): T | undefined =>
    order === undefined || order.stock.deleted ? undefined : order;

  return {
    add: (order) => {
      placed.set(order.stock.id, order);
      latest.push(order);
      if (latest.length > KEPT_IN_SIGHT) latest.shift();
      const { external_order_id: externalOrderId } = order.request;
      if (externalOrderId === undefined) return;
      const ofOrigin = external.get(order.origin) ?? new Map<string, PlacedOrder>();
      external.set(order.origin, ofOrigin.set(externalOrderId, order));
    },
    find: (id) => {
      const stock = orders.find(id);
      return live(placed.get(id) ?? (stock && { stock }));
    },
    findExternal: (origin, externalOrderId) => live(external.get(origin)?.get(externalOrderId)),
    recent: (count) =>
      latest
        .filter(({ stock }) => !stock.deleted)
        .slice(-count)
        .reverse(),
  };
}
