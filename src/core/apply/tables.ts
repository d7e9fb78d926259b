/**
 * What the rules read and write. The store implements it on SQLite inside one transaction, the tests on maps.
 * Implementations store and find; they decide nothing.
 */
import type { StockLevel, Change, Gap, MirrorState, ReadRequest, Product, Variant } from '../model.ts';
import type { DeliveryInput, Unreadable } from '../input.ts';

export interface Tables {
  state(): MirrorState;
  putState(state: MirrorState): void;

  stockLevel(variantId: string, warehouseId: string): StockLevel | undefined;
  stockLevelsOf(variantId: string): StockLevel[];
  putStockLevel(level: StockLevel): void;

  variant(variantId: string): Variant | undefined;
  /** Live and gone ones, in order of their id. */
  variantsOf(productId: string): Variant[];
  putVariant(variant: Variant): void;

  product(productId: string): Product | undefined;
  putProduct(product: Product): void;

  readRequest(productId: string): ReadRequest | undefined;
  putReadRequest(readRequest: ReadRequest): void;
  deleteReadRequest(productId: string): void;

  /** In the order they were opened. */
  gapsOf(variantId: string): Gap[];
  putGap(gap: Gap): void;
  deleteGap(gap: Gap): void;

  appendChange(change: Change): void;
  putDeadLetter(delivery: DeliveryInput, unreadable: Unreadable): void;

  /** Live products with a bundle among their variants, in order of their id. */
  bundleProducts(): string[];
  bundleProductCount(): number;
  /** Products waiting for the operator because of the mass-removal guard. */
  heldProducts(): string[];
  liveCount(kind: 'product' | 'variant' | 'level'): number;
  /** Live products that a read has shown. @param atMost counts no further. */
  shownProductCount(atMost: number): number;
  /**
   * Live ones whose absence was sighted but not yet confirmed, those that the guard holds among them.
   *
   * @param atMost counts no further.
   */
  missingCount(kind: 'product' | 'variant' | 'level', atMost: number): number;
}
