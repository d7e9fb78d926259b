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

/** Variants in each of the two generations: some 5 MB with their stock levels. */
const GENERATION = 2_048;

export class VariantCache {
  #young = new Map<string, CachedVariant>();
  #old = new Map<string, CachedVariant>();
  /** Of this transaction only. */
  #passing = new Map<string, CachedVariant>();
  /** Whether rows requested from now on will be needed again: otherwise they go with the transaction. */
  keeps = true;
  /** The last one requested: a change asks several times. */
  #lastId: string | null = null;
  #last: CachedVariant | null = null;

  of(variantId: string): CachedVariant {
    if (variantId === this.#lastId && this.#last !== null) return this.#last;
    this.#lastId = variantId;
    this.#last = this.#find(variantId);
    return this.#last;
  }

  #find(variantId: string): CachedVariant {
    const young = this.#young.get(variantId);
    if (young !== undefined) return young;
    const known = this.#old.get(variantId) ?? this.#passing.get(variantId);
    const found = known ?? {
      slot: { row: undefined, stored: undefined },
      isKnown: false,
      levels: new Map(),
      hasAllLevels: false,
      gaps: null,
    };
    if (this.keeps) this.#young.set(variantId, found);
    else if (known === undefined) this.#passing.set(variantId, found);
    return found;
  }

  /** Drops what was not used for long, and what belonged to a transaction. Not while a row is unwritten. */
  age(): void {
    if (this.#passing.size > 0) {
      this.#passing = new Map();
      this.#last = null;
    }
    if (this.#young.size < GENERATION) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#last = null;
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#passing = new Map();
    this.#last = null;
  }
}
