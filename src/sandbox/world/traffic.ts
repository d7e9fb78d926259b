import type { Timers } from './clock.ts';
import { available } from './model.ts';
import type { Change, Product, Variant } from './model.ts';
import type { Operations } from './operations.ts';
import type { Random } from './random.ts';
import { OperationError } from './targets.ts';
import type { Truth } from './truth.ts';

interface TrafficDeps {
  readonly truth: Truth;
  readonly operations: Operations;
  readonly random: Random;
  readonly timers: Timers;
}

interface Stocked {
  readonly variantId: string;
  readonly warehouseId: string;
  readonly available: number;
}

/** The shortest tick: at high rates, one tick does several operations. */
const SHORTEST_TICK_MS = 10;
/** Above this many open orders, they are shipped faster than new ones come. */
const MANY_ORDERS = 500;
const STRUCTURAL_SHARE = 0.02;
const FRUITLESS_STEPS = 50;

const incoming = ['returned', 'purchased', 'deposited', 'user_added'] as const;
const outgoing = ['damaged', 'lost', 'withdrawn', 'user_deducted'] as const;

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
      return this.#choose().length;
    } catch (error) {
      // Out of stock, already deleted: as in a real shop, some attempts fail.
      if (error instanceof OperationError) return 0;
      throw error;
    }
  }

  /** @returns the time until the tick. */
  #tickLater(): number {
    const tickMs = Math.max(SHORTEST_TICK_MS, 1_000 / this.#rate);
    this.#timer = this.#deps.timers.setTimeout(() => {
      this.#tick();
    }, tickMs);
    return tickMs;
  }

  #tick(): void {
    const tickMs = this.#tickLater();
    this.#dueSteps += (this.#rate * tickMs) / 1_000;
    // A catalogue in which hardly any operation succeeds must not block the loop.
    for (let fruitless = 0; this.#dueSteps >= 1 && fruitless < FRUITLESS_STEPS;) {
      const told = this.step();
      this.#dueSteps -= told;
      fruitless = told === 0 ? fruitless + 1 : 0;
    }
  }

  #choose(): Change[] {
    const { random } = this.#deps;
    if (this.structural && random.chance(STRUCTURAL_SHARE)) return this.#structural();
    const choice = random.next();
    if (choice < 0.45) return this.#order();
    if (choice < 0.7) return this.#settle();
    if (choice < 0.92) return this.#stock();
    if (choice < 0.96) return this.#assembly();
    return this.#quick();
  }

  #liveVariant(): Variant {
    const { truth, random } = this.#deps;
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const variant = random.pick(truth.variants);
      if (truth.variant(variant.id) !== undefined) return variant;
    }
    throw new OperationError('no live variant was found');
  }

  #stocked(): Stocked {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const variant = this.#liveVariant();
      if (variant.levels.length === 0) continue;
      const level = this.#deps.random.pick(variant.levels);
      return { variantId: variant.id, warehouseId: level.warehouseId, available: available(level) };
    }
    throw new OperationError('no variant with stock was found');
  }

  #order(): Change[] {
    const { operations, random } = this.#deps;
    const lines = Array.from({ length: random.int(1, 4) }, () => ({
      variantId: this.#liveVariant().id,
      qty: random.int(1, 3),
    }));
    return operations.reserve(lines).changes;
  }

  #settle(): Change[] {
    const { operations, random } = this.#deps;
    const open = operations.orders.at(random.int(0, Math.max(0, operations.orders.size - 1)));
    if (open === undefined) return this.#order();
    if (random.chance(operations.orders.size > MANY_ORDERS ? 0.2 : 0.5)) {
      return operations.cancel(open.id, random.chance(0.2) ? 'order_canceled_by_system' : 'order_canceled');
    }
    operations.ship(open.id);
    return [];
  }

  #stock(): Change[] {
    const { operations, random } = this.#deps;
    const { available: qty, ...level } = this.#stocked();
    if (random.chance(0.4)) {
      const reason = random.pick(['user_adjusted', 'user_set', 'stock_counted'] as const);
      return operations.adjust({ ...level, to: random.int(0, 150), reason });
    }
    if (random.chance(0.3) && qty > 0) {
      return operations.add({
        ...level,
        by: -random.int(1, Math.min(qty, 5)),
        reason: random.pick(outgoing),
      });
    }
    return operations.add({ ...level, by: random.int(1, 20), reason: random.pick(incoming) });
  }

  #assembly(): Change[] {
    const { operations, random } = this.#deps;
    const variant = this.#liveVariant();
    if (variant.kind !== 'assembled') return this.#stock();
    const request = { variantId: variant.id, units: random.int(1, 3) };
    return random.chance(0.5) ? operations.assemble(request) : operations.disassemble(request);
  }

  #quick(): Change[] {
    const { operations, random } = this.#deps;
    const { available: _, ...level } = this.#stocked();
    return random.chance(0.5)
      ? operations.flip({ ...level, by: random.int(1, 9) })
      : operations.burst({ ...level, by: Array.from({ length: random.int(2, 4) }, () => random.int(1, 5)) });
  }

  #structural(): Change[] {
    const { truth, operations, random } = this.#deps;
    const variant = this.#liveVariant();
    const level = { warehouseId: random.pick(truth.warehouseIds), qty: random.int(0, 50) };
    const choice = random.int(0, 7);
    if (choice <= 1) return operations.createProduct({ variants: [{ stock: [level] }] }).changes;
    if (choice <= 3) return operations.createVariant(variant.product.id, { stock: [level] }).changes;
    if (choice === 4) {
      if (variant.kind === 'pulled')
        throw new OperationError('the warehouses of a pulled variant belong to the seller');
      return operations.addWarehouse({ variantId: variant.id, ...level });
    }
    if (choice === 5) {
      const [level, ...others] = variant.levels;
      if (level === undefined || others.length === 0)
        throw new OperationError('the last warehouse cannot be removed');
      return operations.removeWarehouse({ variantId: variant.id, warehouseId: level.warehouseId });
    }
    if (choice === 6) operations.deleteVariant(variant.id);
    else flipDeleted(operations, random.pick(truth.products));
    return [];
  }
}

function flipDeleted(operations: Operations, product: Product): void {
  if (product.deleted) operations.restoreProduct(product.id);
  else operations.deleteProduct(product.id);
}
