import type { Clock } from './clock.ts';
import type { Ids } from './ids.ts';
import type { Ledger, Movement } from './ledger.ts';
import { available } from './model.ts';
import type { StockLevel, Change, Publish, Variant } from './model.ts';
import { Orders } from './orders.ts';
import type { Order, OrderLine, Ware } from './orders.ts';
import { OperationError, levelToTakeFrom, requireVariant } from './targets.ts';
import type { Truth } from './truth.ts';

interface ReserveLine {
  readonly variantId: string;
  readonly qty: number;
  readonly warehouseId?: string;
}

interface Reserved {
  readonly orderId: string;
  readonly order: Order;
  readonly changes: Change[];
}

export interface OrderOperations {
  readonly orders: Orders;
  /**
   * Reserves stock for one order, in one delivery. A bundle takes its components' stock. Without a warehouse, the first
   * one with enough stock is used.
   */
  reserve(lines: readonly ReserveLine[]): Reserved;
  /** Releases an open order's stock. The default reason is `order_canceled`. */
  cancel(orderId: string, reason?: string): Change[];
  /** On hand and reserved fall together: the available quantity stays the same, so no webhook is sent. */
  ship(orderId: string): void;
}

export function createOrderOperations(deps: {
  readonly truth: Truth;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly publish: Publish;
}): OrderOperations {
  const { truth, ledger, clock, ids, publish } = deps;
  const orders = new Orders();

  /** Units per variant and warehouse. Lines with the same variant are added up first, so that they cannot oversell it. */
  const plan = (lines: readonly ReserveLine[]): { readonly lines: OrderLine[]; readonly wares: Ware[] } => {
    if (lines.length === 0) throw new OperationError('an order needs at least one line');
    const wanted = new Map<
      string,
      { readonly variant: Variant; readonly qty: number; readonly warehouseId: string | undefined }
    >();
    const want = (variant: Variant, qty: number, warehouseId: string | undefined): void => {
      const key = `${variant.id} ${warehouseId ?? ''}`;
      wanted.set(key, { variant, qty: (wanted.get(key)?.qty ?? 0) + qty, warehouseId });
    };
    const wares: Ware[] = [];
    for (const line of lines) {
      if (!Number.isSafeInteger(line.qty) || line.qty < 1) {
        throw new OperationError(`qty must be a whole number of at least 1, not ${line.qty}`);
      }
      const variant = requireVariant(truth, line.variantId);
      wares.push({ variant, qty: line.qty });
      if (variant.kind !== 'bundle') want(variant, line.qty, line.warehouseId);
      else {
        for (const component of variant.components) {
          requireVariant(truth, component.variant.id);
          want(component.variant, component.qty * line.qty, line.warehouseId);
        }
      }
    }
    // A line that names a warehouse may use the stock that a line without one would have taken.
    const taken = new Map<StockLevel, number>();
    const free = (level: StockLevel): number => available(level) - (taken.get(level) ?? 0);
    const planned = [...wanted.values()].map(({ variant, qty, warehouseId }) => {
      const level = levelToTakeFrom(variant, qty, { warehouseId, free });
      taken.set(level, (taken.get(level) ?? 0) + qty);
      return { variant, qty, level };
    });
    return { lines: planned, wares };
  };

  const close = (orderId: string, state: Order['state'], cancelReason: string | null): Order => {
    const order = orders.find(orderId);
    if (order?.state !== 'open') throw new OperationError(`no open order ${orderId}`);
    orders.close(order);
    return Object.assign(order, { state, cancelReason, updateTimeMs: clock.now() });
  };

  /** Applies a change to every line of an order whose stock level still exists; deleted ones are skipped. */
  const settle = (order: Order, by: (qty: number) => Movement, reason: string): Change[] =>
    order.lines.flatMap(({ variant, level, qty }) => {
      if (truth.variant(variant.id) === undefined || !variant.levels.includes(level)) return [];
      return ledger.move({ variant, level, ...by(qty), cause: { reason, orderId: order.id } }) ?? [];
    });

  return {
    orders,
    reserve: (requested) => {
      const { lines, wares } = plan(requested);
      const orderId = ids.next();
      const changes = lines.flatMap(
        ({ variant, level, qty }) =>
          ledger.move({ variant, level, reserved: qty, cause: { reason: 'order_reserved', orderId } }) ?? [],
      );
      const createTimeMs = clock.now();
      const order: Order = {
        ...{ id: orderId, lines, wares, createTimeMs, updateTimeMs: createTimeMs },
        ...{ state: 'open', cancelReason: null, deleted: false, terms: null },
      };
      orders.add(order);
      publish(changes);
      return { orderId, order, changes };
    },
    cancel: (orderId, reason = 'order_canceled') => {
      const changes = settle(close(orderId, 'canceled', reason), (qty) => ({ reserved: -qty }), reason);
      publish(changes);
      return changes;
    },
    ship: (orderId) => {
      const order = close(orderId, 'shipped', null);
      settle(order, (qty) => ({ onHand: -qty, reserved: -qty }), 'unknown');
    },
  };
}
