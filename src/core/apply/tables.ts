/** The rules' storage: SQLite inside one transaction, or maps in tests. Implementations decide nothing. */
import type { StockLevel, Change, Gap, MirrorStateRow, ReadRequest, Product, Variant } from '../model.ts';
import type { DeliveryInput, Unreadable } from '../input.ts';

export interface Tables {
  state(): MirrorStateRow;
  putState(state: MirrorStateRow): void;

  stockLevel(variantId: string, warehouseId: string): StockLevel | undefined;
  stockLevelsOf(variantId: string): StockLevel[];
  putStockLevel(level: StockLevel): void;

  variant(variantId: string): Variant | undefined;
  /** Live and removed ones, by id. */
  variantsOf(productId: string): Variant[];
  putVariant(variant: Variant): void;

  product(productId: string): Product | undefined;
  putProduct(product: Product): void;

  readRequest(productId: string): ReadRequest | undefined;
  putReadRequest(readRequest: ReadRequest): void;
  deleteReadRequest(productId: string): void;

  /** In the order of opening. */
  gapsOf(variantId: string): Gap[];
  putGap(gap: Gap): void;
  deleteGap(gap: Gap): void;

  appendChange(change: Change): void;
  putDeadLetter(delivery: DeliveryInput, unreadable: Unreadable): void;

  bundleProducts(): string[];
  bundleProductCount(): number;
  heldProducts(): string[];
  liveCount(kind: 'product' | 'variant' | 'level'): number;
  shownProductCount(atMost: number): number;
  /** Live rows sighted missing but not confirmed, including held ones, counted up to `atMost`. */
  missingCount(kind: 'product' | 'variant' | 'level', atMost: number): number;
}
