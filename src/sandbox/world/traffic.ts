import type { Timers } from './clock.ts';
import { available } from './model.ts';
import type { Change, Variant } from './model.ts';
import type { Operations } from './operations.ts';
import type { Random } from './random.ts';
import { OperationError } from '../shared/errors.ts';
import type { Truth } from './truth.ts';

interface TrafficDeps {
  readonly truth: Truth;
  readonly operations: Operations;
  readonly random: Random;
  readonly timers: Timers;
}

/** The shortest tick: at high rates, one tick does several operations. */
const SHORTEST_TICK_MS = 10;
/** Above this many open orders, they are shipped faster than new ones come. */
const MANY_ORDERS = 500;
const STRUCTURAL_SHARE = 0.02;
/** A catalogue in which hardly any operation succeeds must not block the event loop. */
const FRUITLESS_STEPS = 50;

const incoming = ['returned', 'purchased', 'deposited', 'user_added'] as const;
const outgoing = ['damaged', 'lost', 'withdrawn', 'user_deducted'] as const;
const counted = ['user_adjusted', 'user_set', 'stock_counted'] as const;

/** A seeded random mix of operations, like a day in a shop. */
export class Traffic {
  /** Rarely, also creates, deletes and restores products. */
  structural = false;
  readonly #deps: TrafficDeps;
  #rate = 0;
  #dueSteps = 0;
  #timer: unknown;

  constructor(deps: TrafficDeps) {
    this.#deps = deps;
  }

  /** Changes per second while started. */
  get rate(): number {
    return this.#rate;
  }

  /** Starts, or continues at another rate. 0 stops. */
  start(rate: number): void {
    this.stop();
    if (rate <= 0) return;
    this.#rate = rate;
    this.#tickLater();
  }

  stop(): void {
    this.#rate = 0;
    this.#dueSteps = 0;
    this.#deps.timers.clearTimeout(this.#timer);
  }

  /** Does one operation now. Returns how many changes it published. */
  step(): number {
    try {
      return this.#act().length;
    } catch (error) {
      // Out of stock, already deleted: as in a real shop, some attempts fail.
      if (error instanceof OperationError) return 0;
      throw error;
    }
  }

  #tickLater(): void {
    const tickMs = Math.max(SHORTEST_TICK_MS, 1_000 / this.#rate);
    this.#timer = this.#deps.timers.setTimeout(() => {
      this.#dueSteps += (this.#rate * tickMs) / 1_000;
      this.#tickLater();
      for (let fruitless = 0; this.#dueSteps >= 1 && fruitless < FRUITLESS_STEPS;) {
        const published = this.step();
        this.#dueSteps -= published;
        fruitless = published === 0 ? fruitless + 1 : 0;
      }
    }, tickMs);
  }

  #act(): readonly Change[] {
    const { random } = this.#deps;
    if (this.structural && random.chance(STRUCTURAL_SHARE)) return this.#structural();
    const choice = random.next();
    if (choice < 0.45) return this.#order();
    if (choice < 0.7) return this.#settle();
    if (choice < 0.92) return this.#stock();
    if (choice < 0.96) return this.#assembly();
    return this.#quick();
  }

  #pick(isFit: (variant: Variant) => boolean = () => true): Variant {
    const { truth, random } = this.#deps;
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const variant = random.pick(truth.variants);
      if (truth.variant(variant.id) !== undefined && isFit(variant)) return variant;
    }
    throw new OperationError('no such live variant was found');
  }

  #order(): readonly Change[] {
    const { operations, random } = this.#deps;
    const lines = Array.from({ length: random.int(1, 4) }, () => ({
      variantId: this.#pick().id,
      qty: random.int(1, 3),
    }));
    return operations.reserve(lines).changes;
  }

  #settle(): readonly Change[] {
    const { operations, random } = this.#deps;
    const { orders } = operations;
    const open = orders.at(random.int(0, Math.max(0, orders.size - 1)));
    if (open === undefined) return this.#order();
    if (random.chance(orders.size > MANY_ORDERS ? 0.2 : 0.5)) {
      return operations.cancel(open.id, random.chance(0.2) ? 'order_canceled_by_system' : 'order_canceled');
    }
    operations.ship(open.id);
    return [];
  }

  #level() {
    const variant = this.#pick(({ levels }) => levels.length > 0);
    const level = this.#deps.random.pick(variant.levels);
    return { at: { variantId: variant.id, warehouseId: level.warehouseId }, stock: available(level) };
  }

  #stock(): readonly Change[] {
    const { operations, random } = this.#deps;
    const { at, stock } = this.#level();
    if (random.chance(0.4)) {
      return operations.adjust({ ...at, to: random.int(0, 150), reason: random.pick(counted) });
    }
    if (random.chance(0.3) && stock > 0) {
      return operations.add({ ...at, by: -random.int(1, Math.min(stock, 5)), reason: random.pick(outgoing) });
    }
    return operations.add({ ...at, by: random.int(1, 20), reason: random.pick(incoming) });
  }

  #assembly(): readonly Change[] {
    const { operations, random } = this.#deps;
    const { id: variantId } = this.#pick(({ kind }) => kind === 'assembled');
    const units = random.int(1, 3);
    return random.chance(0.5)
      ? operations.assemble({ variantId, units })
      : operations.disassemble({ variantId, units });
  }

  #quick(): readonly Change[] {
    const { operations, random } = this.#deps;
    const { at } = this.#level();
    return random.chance(0.5)
      ? operations.flip({ ...at, by: random.int(1, 9) })
      : operations.burst({ ...at, by: Array.from({ length: random.int(2, 4) }, () => random.int(1, 5)) });
  }

  #structural(): readonly Change[] {
    const { truth, operations, random } = this.#deps;
    const variant = this.#pick();
    const level = { warehouseId: random.pick(truth.warehouseIds), qty: random.int(0, 50) };
    const choice = random.int(0, 7);
    if (choice <= 1) return operations.createProduct({ variants: [{ stock: [level] }] }).changes;
    if (choice <= 3) return operations.createVariant(variant.product.id, { stock: [level] }).changes;
    // The warehouses of a pulled variant belong to the seller.
    if (choice === 4 && variant.kind !== 'pulled')
      return operations.addWarehouse({ variantId: variant.id, ...level });
    if (choice === 5 && variant.levels.length > 1) {
      const { warehouseId } = random.pick(variant.levels);
      return operations.removeWarehouse({ variantId: variant.id, warehouseId });
    }
    if (choice === 6) operations.deleteVariant(variant.id);
    if (choice === 7) {
      const { id, deleted } = random.pick(truth.products);
      if (deleted) operations.restoreProduct(id);
      else operations.deleteProduct(id);
    }
    return [];
  }
}
