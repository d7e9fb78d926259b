/** The stock levels of a simulated store, for deliveries that it would itself have sent. */
import type { StockLevel, Variant } from '../../src/sandbox/world/model.ts';
import { available } from '../../src/sandbox/world/model.ts';
import type { Truth } from '../../src/sandbox/world/truth.ts';
import { present } from '../../test/shared/present.ts';
import type { StockLevels } from './deliveries.ts';

export class CatalogueLevels implements StockLevels {
  readonly #levels: { readonly variant: Variant; readonly level: StockLevel }[] = [];

  constructor(truth: Truth) {
    for (const variant of truth.variants) {
      if (variant.kind !== 'own') continue;
      for (const level of variant.levels) this.#levels.push({ variant, level });
    }
  }

  get count(): number {
    return this.#levels.length;
  }
  name(index: number) {
    const { variant, level } = present(this.#levels[index]);
    return { variantId: variant.id, sku: variant.sku, warehouseId: level.warehouseId };
  }
  qty(index: number): number {
    return available(present(this.#levels[index]).level);
  }
  /** What the store answers to reads from now on. */
  set(index: number, qty: number): void {
    const { level } = present(this.#levels[index]);
    level.onHand = qty + level.reserved;
  }
}
