import type { Timers } from './clock.ts';
import type { SentItem } from './ledger.ts';
import { available, type Variant } from './model.ts';
import type { Operations } from './operations.ts';
import type { Random } from './random.ts';
import { OperationError } from '../shared/errors.ts';
import type { Truth } from './truth.ts';

const SHORTEST_TICK_MS = 10;
/** Above this many open orders, more are shipped than placed. */
const MANY_ORDERS = 500;
/** A limit for catalogues in which hardly any operation succeeds. */
const FRUITLESS_STEPS = 50;

const incoming = ['returned', 'purchased', 'deposited', 'user_added'] as const;
const outgoing = ['damaged', 'lost', 'withdrawn', 'user_deducted'] as const;
const counted = ['user_adjusted', 'user_set', 'stock_counted'] as const;

export function createTraffic(deps: {
  readonly truth: Truth;
  readonly operations: Operations;
  readonly random: Random;
  readonly timers: Timers;
}) {
  const { truth, operations, random, timers } = deps;
  let rate = 0;
  let dueSteps = 0;
  let timer: unknown;

  const tickLater = (): void => {
    const tickMs = Math.max(SHORTEST_TICK_MS, 1_000 / rate);
    timer = timers.setTimeout(() => {
      dueSteps += (rate * tickMs) / 1_000;
      tickLater();
      for (let fruitless = 0; dueSteps >= 1 && fruitless < FRUITLESS_STEPS;) {
        const published = traffic.step();
        dueSteps -= published;
        fruitless = published === 0 ? fruitless + 1 : 0;
      }
    }, tickMs);
  };

  const pick = (isFit: (variant: Variant) => boolean = () => true): Variant => {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const variant = random.pick(truth.variants);
      if (truth.variant(variant.id) !== undefined && isFit(variant)) return variant;
    }
    throw new OperationError('no such live variant was found');
  };

  const order = (): readonly SentItem[] => {
    const lines = Array.from({ length: random.int(1, 4) }, () => ({
      variantId: pick().id,
      qty: random.int(1, 3),
    }));
    return operations.reserve(lines).changes;
  };

  const settle = (): readonly SentItem[] => {
    const { orders } = operations;
    const open = orders.at(random.int(0, Math.max(0, orders.size - 1)));
    if (open === undefined) return order();
    if (random.chance(orders.size > MANY_ORDERS ? 0.2 : 0.5)) {
      return operations.cancel(open.id, random.chance(0.2) ? 'order_canceled_by_system' : 'order_canceled');
    }
    operations.ship(open.id);
    return [];
  };

  const pickLevel = () => {
    const variant = pick(({ levels }) => levels.length > 0);
    const level = random.pick(variant.levels);
    return { at: { variantId: variant.id, warehouseId: level.warehouseId }, stock: available(level) };
  };

  const changeStock = (): readonly SentItem[] => {
    const { at, stock } = pickLevel();
    if (random.chance(0.4)) {
      return operations.adjust({ ...at, to: random.int(0, 150), reason: random.pick(counted) });
    }
    if (random.chance(0.3) && stock > 0) {
      return operations.add({ ...at, by: -random.int(1, Math.min(stock, 5)), reason: random.pick(outgoing) });
    }
    return operations.add({ ...at, by: random.int(1, 20), reason: random.pick(incoming) });
  };

  const assembly = (): readonly SentItem[] => {
    const { id: variantId } = pick(({ kind }) => kind === 'assembled');
    const units = random.int(1, 3);
    return random.chance(0.5)
      ? operations.assemble({ variantId, units })
      : operations.disassemble({ variantId, units });
  };

  const quick = (): readonly SentItem[] => {
    const { at } = pickLevel();
    return random.chance(0.5)
      ? operations.flip({ ...at, by: random.int(1, 9) })
      : operations.burst({ ...at, by: Array.from({ length: random.int(2, 4) }, () => random.int(1, 5)) });
  };

  const act = (): readonly SentItem[] => {
    const choice = random.next();
    if (choice < 0.45) return order();
    if (choice < 0.7) return settle();
    if (choice < 0.92) return changeStock();
    if (choice < 0.96) return assembly();
    return quick();
  };

  const traffic = {
    get rate() {
      return rate;
    },
    start: (changesPerSecond: number): void => {
      traffic.stop();
      if (changesPerSecond <= 0) return;
      rate = changesPerSecond;
      tickLater();
    },
    stop: (): void => {
      rate = 0;
      dueSteps = 0;
      timers.clearTimeout(timer);
    },
    step: (): number => {
      try {
        return act().length;
      } catch (error) {
        // Some attempts fail: out of stock, already deleted.
        if (error instanceof OperationError) return 0;
        throw error;
      }
    },
  };
  return traffic;
}
