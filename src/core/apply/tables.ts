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
  /** Live products that the last read did not show, held ones included, by id. */
  missingProducts(): { readonly productId: string; readonly missingAtMs: number }[];
  /** Quantities that can be sold (`quantitiesOf`). */
  quantityCount(): number;
  /** Those that were sighted missing alone, with their variant or with their product, held ones included. */
  missingQuantities(atMost: number): number;
}
