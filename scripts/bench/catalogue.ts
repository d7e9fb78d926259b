/** The stock levels of a simulated store, for deliveries that it would itself have sent. */
import type { Cell, Variant } from '../../src/sandbox/world/model.ts';
import { available } from '../../src/sandbox/world/model.ts';
import type { Truth } from '../../src/sandbox/world/truth.ts';
import { present } from '../../test/shared/present.ts';
import type { Cells } from './deliveries.ts';

export class CatalogueCells implements Cells {
  readonly #cells: { readonly variant: Variant; readonly cell: Cell }[] = [];

  constructor(truth: Truth) {
    for (const variant of truth.variants) {
      if (variant.kind !== 'own') continue;
      for (const cell of variant.cells) this.#cells.push({ variant, cell });
    }
  }

  get count(): number {
    return this.#cells.length;
  }
  name(index: number) {
    const { variant, cell } = present(this.#cells[index]);
    return { variantId: variant.id, sku: variant.sku, warehouseId: cell.warehouseId };
  }
  qty(index: number): number {
    return available(present(this.#cells[index]).cell);
  }
  /** What the store answers to reads from now on. */
  set(index: number, qty: number): void {
    const { cell } = present(this.#cells[index]);
    cell.onHand = qty + cell.reserved;
  }
}
