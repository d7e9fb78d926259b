/** `Tables` in memory for a large catalogue: what belongs to a variant or a product is found without a search. */
import type { Unreadable } from '../../src/core/entry.ts';
import {
  INITIAL_STATE,
  type StockLevel,
  type Change,
  type Gap,
  type MirrorState,
  type ReadRequest,
  type Product,
  type Variant,
} from '../../src/core/model.ts';
import type { LastRead, Tables } from '../../src/core/apply/tables.ts';

type Kind = 'product' | 'variant' | 'cell';

export class BenchTables implements Tables {
  readonly readRequests = new Map<string, ReadRequest>();
  /** By variant. */
  readonly gaps = new Map<string, Gap[]>();
  readonly #levels = new Map<string, Map<string, StockLevel>>();
  readonly #variants = new Map<string, Variant>();
  readonly #variantsOf = new Map<string, Set<string>>();
  readonly #products = new Map<string, Product>();
  #state: MirrorState = INITIAL_STATE;

  state(): MirrorState {
    return this.#state;
  }
  putState(state: MirrorState): void {
    this.#state = state;
  }
  stockLevel(variantId: string, warehouseId: string): StockLevel | undefined {
    return this.#levels.get(variantId)?.get(warehouseId);
  }
  stockLevelsOf(variantId: string): StockLevel[] {
    return [...(this.#levels.get(variantId)?.values() ?? [])];
  }
  putStockLevel(level: StockLevel): void {
    const of = this.#levels.get(level.variantId);
    if (of === undefined) this.#levels.set(level.variantId, new Map([[level.warehouseId, level]]));
    else of.set(level.warehouseId, level);
  }
  variant(variantId: string): Variant | undefined {
    return this.#variants.get(variantId);
  }
  variantsOf(productId: string): Variant[] {
    return [...(this.#variantsOf.get(productId) ?? [])].flatMap((id) => this.#variants.get(id) ?? []);
  }
  putVariant(variant: Variant): void {
    const { variantId, productId } = variant;
    if (productId !== null && this.#variants.get(variantId)?.productId !== productId) {
      this.#variantsOf.set(productId, (this.#variantsOf.get(productId) ?? new Set()).add(variantId));
    }
    this.#variants.set(variantId, variant);
  }
  product(productId: string): Product | undefined {
    return this.#products.get(productId);
  }
  putProduct(product: Product): void {
    this.#products.set(product.productId, product);
  }
  readRequest(productId: string): ReadRequest | undefined {
    return this.readRequests.get(productId);
  }
  putReadRequest(request: ReadRequest): void {
    this.readRequests.set(request.productId, request);
  }
  deleteReadRequest(productId: string): void {
    this.readRequests.delete(productId);
  }
  gapsOf(variantId: string): Gap[] {
    return this.gaps.get(variantId) ?? [];
  }
  putGap(gap: Gap): void {
    const others = this.gapsOf(gap.variantId).filter((one) => !isSame(one, gap));
    this.gaps.set(gap.variantId, [...others, gap]);
  }
  deleteGap(gap: Gap): void {
    const others = this.gapsOf(gap.variantId).filter((one) => !isSame(one, gap));
    if (others.length === 0) this.gaps.delete(gap.variantId);
    else this.gaps.set(gap.variantId, others);
  }
  appendChange(_change: Change): void {
    // Nobody reads the feed here.
  }
  putDeadLetter(_logSeq: number, _unreadable: Unreadable): void {
    // Every body is understood here.
  }
  /** None: the policies beside each other decide what a proven loss has read. */
  lossSweepProducts(): LastRead[] {
    return [];
  }
  bundleProducts(): string[] {
    return [];
  }
  bundleProductCount(): number {
    return 0;
  }
  heldProducts(): string[] {
    return [];
  }
  liveCount(kind: Kind): number {
    return { product: this.#products, variant: this.#variants, cell: this.#levels }[kind].size;
  }
  /** Every product here was read. */
  shownProductCount(atMost: number): number {
    return Math.min(atMost, this.#products.size);
  }
  missingCount(): number {
    return 0;
  }
}

function isSame(a: Gap, b: Gap): boolean {
  return a.warehouseId === b.warehouseId && a.openedSeq === b.openedSeq;
}
