import type { z } from 'zod';
import type { createOrderRequestSchema, ShippingType } from '../../store-api/contract/order-schemas.ts';
import { OperationError } from '../shared/errors.ts';
import type { Ids } from './ids.ts';
import type { Ledger, Movement, SentItem } from './ledger.ts';
import { available, type StockLevel, type Variant } from './model.ts';
import { levelToTakeFrom, requireVariant } from './targets.ts';
import type { Truth } from './truth.ts';

export type NewOrder = z.output<typeof createOrderRequestSchema>;

/** Refers to the level itself: a warehouse removed and added again holds nothing for the order. */
interface Hold {
  readonly variant: Variant;
  readonly level: StockLevel;
  readonly qty: number;
}

interface Shipment {
  readonly id: string;
  readonly shipping_type: ShippingType;
  readonly tracking_number: string;
  readonly create_time: number;
}

interface Terms {
  readonly request: NewOrder;
  isPaid: boolean;
  readonly shipments: Shipment[];
}

export interface Order {
  readonly id: string;
  readonly holds: readonly Hold[];
  state: 'open' | 'shipped' | 'canceled';
  /** null for a counter sale. */
  terms: Terms | null;
}

export interface PlacedOrder extends Order {
  readonly terms: Terms;
}

/** The contract shows no other fields of an order. */
export function renderOrder({ id, terms }: Order) {
  const { request, shipments = [] } = terms ?? {};
  return {
    id,
    ...(request?.external_order_id !== undefined && { external_order_id: request.external_order_id }),
    ...(shipments.length > 0 && { shipments }),
  };
}

const COUNTER_SALES_KEPT = 10_000;

interface NewLine {
  readonly variantId: string;
  readonly qty: number;
  readonly warehouseId?: string | undefined;
}

export type OrderOperations = ReturnType<typeof createOrderOperations>;

export function createOrderOperations(deps: {
  readonly truth: Truth;
  readonly ledger: Ledger;
  readonly ids: Ids;
  readonly published: (changes: SentItem[]) => SentItem[];
}) {
  const { truth, ledger, ids, published } = deps;
  const open = new Map<string, Order>();
  const closed = new Map<string, Order>();
  const placed = new Map<string, PlacedOrder>();
  const external = new Map<string, PlacedOrder>();
  const orders = {
    /** Finds only the last 10,000 of the closed counter sales. */
    find: (id: string): Order | undefined => placed.get(id) ?? open.get(id) ?? closed.get(id),
    findExternal: (externalId: string | undefined): PlacedOrder | undefined =>
      externalId === undefined ? undefined : external.get(externalId),
    /** Random traffic leaves the order alone from now on. */
    place: (order: Order, terms: Terms): PlacedOrder => {
      const made = Object.assign(order, { terms });
      open.delete(order.id);
      placed.set(order.id, made);
      const { external_order_id: externalId } = terms.request;
      if (externalId !== undefined) external.set(externalId, made);
      return made;
    },
    get size() {
      return open.size;
    },
    at: (index: number): Order | undefined => [...open.values()][index],
  };

  /** Lines with the same variant are added up first, so that they cannot oversell it. */
  const holdsOf = (lines: readonly (NewLine & { readonly variant: Variant })[]): Hold[] => {
    const neededByLevel = new Map<
      string,
      { variant: Variant; qty: number; warehouseId: string | undefined }
    >();
    for (const { variant, qty, warehouseId } of lines) {
      const parts = variant.kind === 'bundle' ? variant.components : [{ variant, qty: 1 }];
      for (const part of parts) {
        const { id } = requireVariant(truth, part.variant.id);
        const key = `${id} ${warehouseId ?? ''}`;
        const sum = (neededByLevel.get(key)?.qty ?? 0) + part.qty * qty;
        neededByLevel.set(key, { variant: part.variant, qty: sum, warehouseId });
      }
    }
    // A line with a warehouse may use the stock that a line without one would have taken.
    const taken = new Map<StockLevel, number>();
    const free = (level: StockLevel): number => available(level) - (taken.get(level) ?? 0);
    return [...neededByLevel.values()].map(({ variant, qty, warehouseId }) => {
      const level = levelToTakeFrom(variant, qty, { warehouseId, free });
      taken.set(level, (taken.get(level) ?? 0) + qty);
      return { variant, qty, level };
    });
  };

  const close = (orderId: string, state: Order['state']): Order => {
    const order = orders.find(orderId);
    if (order?.state !== 'open') throw new OperationError(`no open order ${orderId}`);
    if (open.delete(orderId)) closed.set(orderId, order);
    const [oldest = ''] = closed.keys();
    if (closed.size > COUNTER_SALES_KEPT) closed.delete(oldest);
    return Object.assign(order, { state });
  };

  const settle = (order: Order, by: (qty: number) => Movement, reason: string): SentItem[] =>
    order.holds.flatMap(({ variant, level, qty }) => {
      if (truth.variant(variant.id) === undefined || !variant.levels.includes(level)) return [];
      return ledger.move({ variant, level, ...by(qty), origin: { reason, order_id: order.id } });
    });

  return {
    orders,
    /** A bundle takes its components' stock. Without a warehouse, the first one with enough stock is used. */
    reserve: (requested: readonly NewLine[]) => {
      const lines = requested.map((line) => ({ ...line, variant: requireVariant(truth, line.variantId) }));
      const holds = holdsOf(lines);
      const orderId = ids.next();
      const origin = { reason: 'order_reserved', order_id: orderId };
      const changes = holds.flatMap(({ qty, ...place }) => ledger.move({ ...place, reserved: qty, origin }));
      const order: Order = {
        id: orderId,
        holds,
        state: 'open',
        terms: null,
      };
      open.set(orderId, order);
      return { orderId, order, changes: published(changes) };
    },
    cancel: (orderId: string, reason = 'order_canceled') =>
      published(settle(close(orderId, 'canceled'), (qty) => ({ reserved: -qty }), reason)),
    ship: (orderId: string): void => {
      settle(close(orderId, 'shipped'), (qty) => ({ onHand: -qty, reserved: -qty }), 'unknown');
    },
  };
}
