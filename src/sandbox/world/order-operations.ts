import type { Movement } from './ledger.ts';
import { available } from './model.ts';
import type { Change, StockLevel, Variant } from './model.ts';
import type { OperationDeps } from './operations.ts';
import { Orders } from './orders.ts';
import type { Order, OrderLine, Ware } from './orders.ts';
import { OperationError, levelToTakeFrom, requirePositive, requireVariant } from './targets.ts';

interface ReserveLine {
  readonly variantId: string;
  readonly qty: number;
  readonly warehouseId?: string;
}

export type OrderOperations = ReturnType<typeof createOrderOperations>;

export function createOrderOperations({ truth, ledger, clock, ids, published }: OperationDeps) {
  const orders = new Orders();

  /** Units per variant and warehouse. Lines with the same variant are added up first, so that they cannot oversell it. */
  const plan = (lines: readonly ReserveLine[]): { readonly lines: OrderLine[]; readonly wares: Ware[] } => {
    if (lines.length === 0) throw new OperationError('an order needs at least one line');
    const wanted = new Map<string, Ware & { readonly warehouseId: string | undefined }>();
    const want = (variant: Variant, qty: number, warehouseId: string | undefined): void => {
      const key = `${variant.id} ${warehouseId ?? ''}`;
      wanted.set(key, { variant, qty: (wanted.get(key)?.qty ?? 0) + qty, warehouseId });
    };
    const wares = lines.map(({ variantId, qty, warehouseId }): Ware => {
      requirePositive('qty', qty);
      const variant = requireVariant(truth, variantId);
      const parts = variant.kind === 'bundle' ? variant.components : [{ variant, qty: 1 }];
      for (const part of parts) want(requireVariant(truth, part.variant.id), part.qty * qty, warehouseId);
      return { variant, qty };
    });
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
      return ledger.move({ variant, level, ...by(qty), cause: { reason, orderId: order.id } });
    });

  return {
    orders,
    /**
     * Reserves stock for one order, in one delivery. A bundle takes its components' stock. Without a warehouse, the first
     * one with enough stock is used.
     */
    reserve: (requested: readonly ReserveLine[]) => {
      const { lines, wares } = plan(requested);
      const orderId = ids.next();
      const cause = { reason: 'order_reserved', orderId };
      const changes = lines.flatMap(({ variant, level, qty }) =>
        ledger.move({ variant, level, reserved: qty, cause }),
      );
      const createTimeMs = clock.now();
      const order: Order = {
        ...{ id: orderId, lines, wares, createTimeMs, updateTimeMs: createTimeMs },
        ...{ state: 'open', cancelReason: null, deleted: false, terms: null },
      };
      orders.add(order);
      return { orderId, order, changes: published(changes) };
    },
    /** Releases an open order's stock. */
    cancel: (orderId: string, reason = 'order_canceled') =>
      published(settle(close(orderId, 'canceled', reason), (qty) => ({ reserved: -qty }), reason)),
    /** On hand and reserved fall together: the available quantity stays the same, so no webhook is sent. */
    ship: (orderId: string): void => {
      settle(close(orderId, 'shipped', null), (qty) => ({ onHand: -qty, reserved: -qty }), 'unknown');
    },
  };
}
