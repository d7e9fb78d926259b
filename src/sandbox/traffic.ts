import type { Timers } from './clock.ts';
import { available } from './model.ts';
import type { Change, Variant } from './model.ts';
import type { Operations } from './operations.ts';
import type { Random } from './random.ts';
import { OperationError } from './targets.ts';
import type { Truth } from './truth.ts';

export type Traffic = {
  /** Changes per second while started; may be set at any time. */
  readonly rate: number;
  /** Rarely, also creates, deletes and restores products. */
  structural: boolean;
  /** Starts, or continues at another rate. 0 stops. */
  start(rate: number): void;
  stop(): void;
  /** Does one operation now. Returns how many changes it published. */
  step(): number;
};

/** The shortest tick: at high rates, one tick does several operations. */
const SHORTEST_TICK_MS = 10;
/** Above this many open orders, they are shipped faster than new ones come. */
const MANY_ORDERS = 500;
const STRUCTURAL_SHARE = 0.02;
const FRUITLESS_STEPS = 50;

const incoming = ['returned', 'purchased', 'deposited', 'user_added'] as const;
const outgoing = ['damaged', 'lost', 'withdrawn', 'user_deducted'] as const;

/** A seeded random mix of operations, like a day in a shop. */
export function createTraffic(deps: {
  truth: Truth;
  operations: Operations;
  random: Random;
  timers: Timers;
}): Traffic {
  const { truth, operations, random, timers } = deps;
  let rate = 0;
  let owed = 0;
  let timer: unknown;

  const liveVariant = (): Variant => {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const variant = random.pick(truth.variants);
      if (truth.variant(variant.id) !== undefined) return variant;
    }
    throw new OperationError('no live variant was found');
  };
  const stocked = (): { variantId: string; warehouseId: string; available: number } => {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const variant = liveVariant();
      if (variant.cells.length === 0) continue;
      const cell = random.pick(variant.cells);
      return { variantId: variant.id, warehouseId: cell.warehouseId, available: available(cell) };
    }
    throw new OperationError('no variant with stock was found');
  };

  const order = (): Change[] =>
    operations.reserve(
      Array.from({ length: random.int(1, 4) }, () => ({
        variantId: liveVariant().id,
        qty: random.int(1, 3),
      })),
    ).changes;
  const settle = (): Change[] => {
    const open = operations.orders.at(random.int(0, Math.max(0, operations.orders.size - 1)));
    if (open === undefined) return order();
    if (random.chance(operations.orders.size > MANY_ORDERS ? 0.2 : 0.5)) {
      return operations.cancel(open.id, random.chance(0.2) ? 'order_canceled_by_system' : 'order_canceled');
    }
    operations.ship(open.id);
    return [];
  };
  const stock = (): Change[] => {
    const { available: qty, ...cell } = stocked();
    if (random.chance(0.4)) {
      const reason = random.pick(['user_adjusted', 'user_set', 'stock_counted'] as const);
      return operations.adjust({ ...cell, to: random.int(0, 150), reason });
    }
    if (random.chance(0.3) && qty > 0) {
      return operations.add({ ...cell, by: -random.int(1, Math.min(qty, 5)), reason: random.pick(outgoing) });
    }
    return operations.add({ ...cell, by: random.int(1, 20), reason: random.pick(incoming) });
  };
  const assembly = (): Change[] => {
    const variant = liveVariant();
    if (variant.kind !== 'assembled') return stock();
    const request = { variantId: variant.id, units: random.int(1, 3) };
    return random.chance(0.5) ? operations.assemble(request) : operations.disassemble(request);
  };
  const quick = (): Change[] => {
    const { available: _, ...cell } = stocked();
    return random.chance(0.5)
      ? operations.flip({ ...cell, by: random.int(1, 9) })
      : operations.burst({ ...cell, by: Array.from({ length: random.int(2, 4) }, () => random.int(1, 5)) });
  };
  const structural = (): Change[] => {
    const variant = liveVariant();
    const stockOf = [{ warehouseId: random.pick(truth.warehouseIds), qty: random.int(0, 50) }];
    const choice = random.int(0, 7);
    if (choice <= 1) return operations.createProduct({ variants: [{ stock: stockOf }] }).changes;
    if (choice <= 3) return operations.createVariant(variant.product.id, { stock: stockOf }).changes;
    if (choice === 4) {
      if (variant.kind === 'pulled')
        throw new OperationError('the warehouses of a pulled variant belong to the seller');
      return operations.addWarehouse({ variantId: variant.id, ...stockOf[0]! });
    }
    if (choice === 5) {
      if (variant.cells.length < 2) throw new OperationError('the last warehouse cannot be removed');
      return operations.removeWarehouse({
        variantId: variant.id,
        warehouseId: variant.cells[0]!.warehouseId,
      });
    }
    if (choice === 6) {
      operations.deleteVariant(variant.id);
      return [];
    }
    const product = random.pick(truth.products);
    if (product.deleted) operations.restoreProduct(product.id);
    else operations.deleteProduct(product.id);
    return [];
  };

  const choose = (): Change[] => {
    if (traffic.structural && random.chance(STRUCTURAL_SHARE)) return structural();
    const choice = random.next();
    if (choice < 0.45) return order();
    if (choice < 0.7) return settle();
    if (choice < 0.92) return stock();
    if (choice < 0.96) return assembly();
    return quick();
  };

  const tick = (): void => {
    const tickMs = Math.max(SHORTEST_TICK_MS, 1_000 / rate);
    timer = timers.setTimeout(tick, tickMs);
    owed += (rate * tickMs) / 1_000;
    // A catalogue in which hardly any operation succeeds must not block the loop.
    for (let fruitless = 0; owed >= 1 && fruitless < FRUITLESS_STEPS;) {
      const told = traffic.step();
      owed -= told;
      fruitless = told === 0 ? fruitless + 1 : 0;
    }
  };

  const traffic: Traffic = {
    structural: false,
    get rate() {
      return rate;
    },
    start: (nextRate) => {
      traffic.stop();
      if (nextRate <= 0) return;
      rate = nextRate;
      timer = timers.setTimeout(tick, Math.max(SHORTEST_TICK_MS, 1_000 / rate));
    },
    stop: () => {
      rate = 0;
      owed = 0;
      timers.clearTimeout(timer);
    },
    step: () => {
      try {
        return choose().length;
      } catch (error) {
        // Out of stock, already deleted: as in a real shop, some attempts fail.
        if (error instanceof OperationError) return 0;
        throw error;
      }
    },
  };
  return traffic;
}
