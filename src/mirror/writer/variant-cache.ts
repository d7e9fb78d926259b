/** The variants that deliveries touch, with unwritten rows (`flush`). Valid while no other program writes. */
import type { StockLevel, Gap, Variant } from '../../core/model.ts';

/** A row and its stored state; undefined if there is none. */
export interface Slot<Row> {
  row: Row | undefined;
  stored: Row | undefined;
}

interface CachedVariant {
  readonly slot: Slot<Variant>;
  isKnown: boolean;
  readonly levels: Map<string, Slot<StockLevel>>;
  hasAllLevels: boolean;
  gaps: readonly Gap[] | null;
}

/** About 5 MB with their stock levels. */
const MAX_VARIANTS = 4_096;

export class VariantCache {
  readonly #variants = new Map<string, CachedVariant>();

  of(variantId: string): CachedVariant {
    let cached = this.#variants.get(variantId);
    if (cached === undefined) {
      cached = {
        slot: { row: undefined, stored: undefined },
        isKnown: false,
        levels: new Map(),
        hasAllLevels: false,
        gaps: null,
      };
      this.#variants.set(variantId, cached);
    }
    return cached;
  }

  /** Bounds the memory. Call only while no row is unwritten. */
  trim(): void {
    if (this.#variants.size > MAX_VARIANTS) this.clear();
  }

  clear(): void {
    this.#variants.clear();
  }
}
