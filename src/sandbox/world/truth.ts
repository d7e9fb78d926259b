import type { RenderedProduct } from './answers.ts';
import type { Clock } from './clock.ts';
import { History } from './history.ts';
import { available, sellable } from './model.ts';
import type { Product, StockLevel, Variant } from './model.ts';
import { renderProduct } from './render.ts';
import type { Store } from './render.ts';

interface TruthOptions extends Store {
  readonly warehouseIds: readonly string[];
  readonly sellerWarehouseIds: readonly string[];
  readonly clock: Clock;
}

/** What the store holds, and what its products were a moment ago. */
export class Truth implements Store {
  readonly storeId: string;
  readonly priceTierId: string;
  readonly imageBaseUrl: string;
  readonly warehouseIds: readonly string[];
  readonly sellerWarehouseIds: readonly string[];
  readonly #clock: Clock;
  readonly #history = new History();
  readonly #products: Product[] = [];
  readonly #variants: Variant[] = [];
  readonly #productsById = new Map<string, Product>();
  readonly #variantsById = new Map<string, Variant>();
  #listRevision = 0;

  constructor(options: TruthOptions) {
    this.storeId = options.storeId;
    this.priceTierId = options.priceTierId;
    this.imageBaseUrl = options.imageBaseUrl;
    this.warehouseIds = options.warehouseIds;
    this.sellerWarehouseIds = options.sellerWarehouseIds;
    this.#clock = options.clock;
  }

  /** Every product, in order of creation, deleted ones included. */
  get products(): readonly Product[] {
    return this.#products;
  }

  get variants(): readonly Variant[] {
    return this.#variants;
  }

  /** Grows when a list changes: the set of products, a name or an edit time. */
  get listRevision(): number {
    return this.#listRevision;
  }

  /** Live products and variants by id; undefined when deleted or unknown. */
  product(id: string): Product | undefined {
    return live(this.#productsById.get(id));
  }

  variant(id: string): Variant | undefined {
    const variant = live(this.#variantsById.get(id));
    return variant === undefined || variant.product.deleted ? undefined : variant;
  }

  stockLevel(variantId: string, warehouseId: string): StockLevel | undefined {
    return this.variant(variantId)?.levels.find((level) => level.warehouseId === warehouseId);
  }

  add(product: Product): void {
    this.#history.record(product.id, this.#clock.baseNow(), () => null);
    this.#products.push(product);
    this.#productsById.set(product.id, product);
    for (const variant of product.variants) this.#register(variant);
    this.#listRevision += 1;
  }

  addVariant(variant: Variant): void {
    this.touchProduct(variant.product);
    variant.product.variants.push(variant);
    this.#register(variant);
    this.edited(variant.product);
  }

  deleteProduct(product: Product): void {
    if (product.deleted) return;
    this.#touchVariants(product, 'unlink');
    product.deleted = true;
    this.edited(product);
  }

  restoreProduct(product: Product): void {
    if (!product.deleted) return;
    this.#touchVariants(product, 'link');
    product.deleted = false;
    this.edited(product);
  }

  deleteVariant(variant: Variant): void {
    this.touch(variant);
    this.#joinComponents(variant, 'unlink');
    variant.deleted = true;
    this.edited(variant.product);
  }

  moveVariant(variant: Variant, product: Product): void {
    const from = variant.product;
    this.touch(variant);
    this.touchProduct(product);
    from.variants.splice(from.variants.indexOf(variant), 1);
    product.variants.push(variant);
    variant.product = product;
    this.edited(from);
    this.edited(product);
  }

  /** Call it before a variant's stock changes: keeps the state for stale reads. */
  touch(variant: Variant): void {
    this.touchProduct(variant.product);
    for (const bundle of variant.bundledBy) this.touchProduct(bundle.product);
  }

  touchProduct(product: Product): void {
    this.#history.record(product.id, this.#clock.baseNow(), () => this.#shown(product));
  }

  /** Call it after a product was edited, and `touchProduct` before. */
  edited(product: Product): void {
    product.updateTimeMs = Math.max(product.updateTimeMs, this.#clock.now());
    this.#listRevision += 1;
  }

  /** The product as `/v1/product/detail` shows it now, or showed it `ageMs` ago; null: none. */
  detail(productId: string, ageMs = 0): RenderedProduct | null {
    const product = this.#productsById.get(productId);
    if (product === undefined) return null;
    const past = ageMs > 0 ? this.#history.at(productId, this.#clock.baseNow() - ageMs) : undefined;
    return past === undefined ? this.#shown(product) : past;
  }

  /** What the mirror must equal at the end. */
  snapshot() {
    const products = this.#products.filter(({ deleted }) => !deleted);
    const variants = products.flatMap((product) => product.variants.filter(({ deleted }) => !deleted));
    return {
      products: products.map(({ id, name }) => ({ productId: id, name })),
      variants: variants.map((variant) => ({
        ...{ variantId: variant.id, productId: variant.product.id, kind: variant.kind },
        availableQty: sellable(variant),
      })),
      levels: variants.flatMap(({ id, product, sku, kind, levels }) =>
        levels.map((level) => ({
          ...{ variantId: id, warehouseId: level.warehouseId, productId: product.id, sku, kind },
          availableQty: available(level),
          // For a pulled variant the stock is the seller's, and the store shows only the available quantity.
          onHand: kind === 'pulled' ? null : level.onHand,
          reservedQty: kind === 'pulled' ? null : level.reserved,
        })),
      ),
    };
  }

  #shown(product: Product): RenderedProduct | null {
    return product.deleted ? null : renderProduct(product, this);
  }

  #register(variant: Variant): void {
    this.#variants.push(variant);
    this.#variantsById.set(variant.id, variant);
    this.#joinComponents(variant, 'link');
  }

  #touchVariants(product: Product, change: 'link' | 'unlink'): void {
    for (const variant of product.variants) {
      if (variant.deleted) continue;
      this.touch(variant);
      this.#joinComponents(variant, change);
    }
  }

  /** Components refer to the live bundles that use them (`bundled_by_count`). */
  #joinComponents(variant: Variant, change: 'link' | 'unlink'): void {
    if (variant.kind !== 'bundle') return;
    for (const { variant: component } of variant.components) {
      this.touchProduct(component.product);
      if (change === 'link') component.bundledBy.add(variant);
      else component.bundledBy.delete(variant);
    }
  }
}

function live<T extends { readonly deleted: boolean }>(item: T | undefined): T | undefined {
  return item === undefined || item.deleted ? undefined : item;
}
