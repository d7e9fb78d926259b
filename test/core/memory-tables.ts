import type { DeliveryInput, Unreadable } from '../../src/core/input.ts';
import {
  type StockLevel,
  type Change,
  type Gap,
  type MirrorStateRow,
  type ReadRequest,
  type Product,
  type Variant,
} from '../../src/core/model.ts';
import { EARLIEST_MS } from '../../src/core/limits.ts';
import { LEAST_MEAN_GAP_MS } from '../../src/core/merge/way-in.ts';
import { isHeldRequest } from '../../src/core/merge/read-request.ts';
import { isSoldByLevels, quantitiesOf } from '../../src/core/merge/unlisted-levels.ts';
import type { Tables } from '../../src/core/apply/tables.ts';

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The same values as in a new file. */
const INITIAL_STATE: MirrorStateRow = {
  appliedSeq: 0,
  inboxSeq: 0,
  changeSeq: 0,
  storeId: null,
  lastDeliveryAtMs: null,
  unreadableAtMs: null,
  offsetWindowStartMs: 0,
  offsetFloorMs: null,
  offsetFloorPreviousMs: null,
  offsetCeilingMs: null,
  stampedUntilMs: null,
  dateContradictions: 0,
  latenessMs: 1_500,
  trustedAfterMs: EARLIEST_MS,
  bundlesDueAtMs: null,
  bundlesMadeAtMs: null,
  listedFromMs: EARLIEST_MS,
  removalWindowStartMs: 0,
  removedInWindow: 0,
  wayIn: 'unproven',
  wayInSinceMs: 0,
  lastWebhookAtMs: null,
  meanGapMs: LEAST_MEAN_GAP_MS,
  untold: null,
  secrets: [],
};

export class MemoryTables implements Tables {
  readonly levels = new Map<string, StockLevel>();
  readonly variants = new Map<string, Variant>();
  readonly products = new Map<string, Product>();
  readonly readRequests = new Map<string, ReadRequest>();
  readonly gaps = new Map<string, Gap>();
  readonly changes: Change[] = [];
  readonly deadLetters: { inboxSeq: number; arrivedAtMs: number; unreadable: Unreadable }[] = [];
  private current: MirrorStateRow = INITIAL_STATE;

  state(): MirrorStateRow {
    return this.current;
  }
  putState(state: MirrorStateRow): void {
    this.current = state;
  }
  stockLevel(variantId: string, warehouseId: string): StockLevel | undefined {
    return this.levels.get(`${variantId}/${warehouseId}`);
  }
  stockLevelsOf(variantId: string): StockLevel[] {
    return [...this.levels.values()]
      .filter((level) => level.variantId === variantId)
      .sort((a, b) => byText(a.warehouseId, b.warehouseId));
  }
  putStockLevel(level: StockLevel): void {
    this.levels.set(`${level.variantId}/${level.warehouseId}`, level);
  }
  variant(variantId: string): Variant | undefined {
    return this.variants.get(variantId);
  }
  variantsOf(productId: string): Variant[] {
    return [...this.variants.values()]
      .filter((variant) => variant.productId === productId)
      .sort((a, b) => byText(a.variantId, b.variantId));
  }
  putVariant(variant: Variant): void {
    this.variants.set(variant.variantId, variant);
  }
  product(productId: string): Product | undefined {
    return this.products.get(productId);
  }
  putProduct(product: Product): void {
    this.products.set(product.productId, product);
  }
  readRequest(productId: string): ReadRequest | undefined {
    return this.readRequests.get(productId);
  }
  putReadRequest(readRequest: ReadRequest): void {
    this.readRequests.set(readRequest.productId, readRequest);
  }
  deleteReadRequest(productId: string): void {
    this.readRequests.delete(productId);
  }
  gapsOf(variantId: string): Gap[] {
    return [...this.gaps.values()]
      .filter((gap) => gap.variantId === variantId)
      .sort(
        (a, b) => byText(a.warehouseId, b.warehouseId) || a.inboxSeq - b.inboxSeq || byText(a.kind, b.kind),
      );
  }
  putGap(gap: Gap): void {
    this.gaps.set(`${gap.variantId}/${gap.warehouseId}/${gap.inboxSeq}/${gap.kind}`, gap);
  }
  deleteGap(gap: Gap): void {
    this.gaps.delete(`${gap.variantId}/${gap.warehouseId}/${gap.inboxSeq}/${gap.kind}`);
  }
  appendChange(change: Change): void {
    this.changes.push(change);
  }
  putDeadLetter({ inboxSeq, atMs }: DeliveryInput, unreadable: Unreadable): void {
    this.deadLetters.push({ inboxSeq, arrivedAtMs: atMs, unreadable });
  }
  bundleProducts(): string[] {
    return [...this.products.values()]
      .filter((product) => product.hasBundle && product.goneAtMs === null)
      .map((product) => product.productId)
      .sort(byText);
  }
  bundleProductCount(): number {
    return this.bundleProducts().length;
  }
  heldProducts(): string[] {
    return [...this.readRequests.values()]
      .filter(isHeldRequest)
      .map((readRequest) => readRequest.productId)
      .sort(byText);
  }
  missingProducts(): { readonly productId: string; readonly missingAtMs: number }[] {
    return live(this.products)
      .flatMap(({ productId, missingAtMs }) => (missingAtMs === null ? [] : [{ productId, missingAtMs }]))
      .sort((a, b) => byText(a.productId, b.productId));
  }
  quantityCount(): number {
    return this.sum(live(this.variants));
  }
  missingQuantities(atMost: number): number {
    const isMissing = ({ missingAtMs }: { readonly missingAtMs: number | null }): boolean =>
      missingAtMs !== null;
    const owned = live(this.variants).filter(({ productId }) => this.products.has(productId ?? ''));
    const isWhole = (variant: Variant): boolean => {
      const product = this.products.get(variant.productId ?? '');
      return isMissing(variant) || (product?.goneAtMs === null && isMissing(product));
    };
    const parts = owned
      .filter((variant) => !isWhole(variant) && isSoldByLevels(variant))
      .flatMap(({ variantId }) => this.stockLevelsOf(variantId))
      .filter((level) => level.goneAtMs === null && isMissing(level));
    return Math.min(atMost, this.sum(owned.filter(isWhole)) + parts.length);
  }
  private sum(variants: readonly Variant[]): number {
    return variants.reduce(
      (sum, variant) => sum + quantitiesOf(variant, this.stockLevelsOf(variant.variantId)),
      0,
    );
  }
}

function live<Row extends { readonly goneAtMs: number | null }>(rows: ReadonlyMap<string, Row>): Row[] {
  return [...rows.values()].filter(({ goneAtMs }) => goneAtMs === null);
}
