/**
 * What deliveries touch again and again, kept in memory: variants with their stock levels. A transaction's rows are
 * written once, at its end or before a query that would miss them. The cache is right as long as no other program
 * writes.
 */
import type { StockLevel, Gap, Variant } from '../../core/model.ts';

/** A row, and what the table holds of it: undefined when there is none. */
export interface Slot<Row> {
  row: Row | undefined;
  stored: Row | undefined;
}

interface CachedVariant {
  readonly slot: Slot<Variant>;
  /** Whether `slot` says what the table holds. */
  isKnown: boolean;
  readonly levels: Map<string, Slot<StockLevel>>;
  /** The table has no other stock level of the variant. */
  hasAllLevels: boolean;
  /** The open gaps, in the order they were opened; null: not known. */
  gaps: readonly Gap[] | null;
}

/** With their stock levels some 5 MB. */
const MAX_VARIANTS = 4_096;

export class VariantCache {
  readonly #variants = new Map<string, CachedVariant>();
  /** The last one requested: a change asks several times. */
  #lastId: string | null = null;
  #last: CachedVariant | null = null;

  of(variantId: string): CachedVariant {
    if (variantId === this.#lastId && this.#last !== null) return this.#last;
    let found = this.#variants.get(variantId);
    if (found === undefined) {
      found = {
        slot: { row: undefined, stored: undefined },
        isKnown: false,
        levels: new Map(),
        hasAllLevels: false,
        gaps: null,
      };
      this.#variants.set(variantId, found);
    }
    this.#lastId = variantId;
    this.#last = found;
    return found;
  }

  /** Bounds the memory. Not while a row is unwritten. */
  trim(): void {
    if (this.#variants.size > MAX_VARIANTS) this.clear();
  }

  clear(): void {
    this.#variants.clear();
    this.#last = null;
  }
}
