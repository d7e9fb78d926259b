import type { Clock } from './clock.ts';
import type { Ids } from './ids.ts';
import { available, sellable, type Product, type Variant } from './model.ts';
import { renderProduct, type RenderedProduct } from './render.ts';

const KEEP_MS = 5_000;

interface Past {
  readonly untilMs: number;
  readonly state: RenderedProduct | null;
}

export class Truth {
  readonly warehouseIds: readonly string[];
  readonly sellerWarehouseIds: readonly string[];
  readonly #clock: Clock;
  readonly #pasts = new Map<string, Past[]>();
  readonly #products: Product[] = [];
  readonly #variants: Variant[] = [];
  readonly #productsById = new Map<string, Product>();
  readonly #variantsById = new Map<string, Variant>();
  #listRevision = 0;

  constructor({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }) {
    this.#clock = clock;
    this.warehouseIds = [ids.next(), ids.next(), ids.next()];
    this.sellerWarehouseIds = [ids.next(), ids.next()];
  }

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

  product(id: string): Product | undefined {
    return live(this.#productsById.get(id));
  }

  variant(id: string): Variant | undefined {
    const variant = live(this.#variantsById.get(id));
    return variant === undefined || variant.product.deleted ? undefined : variant;
  }

  add(product: Product): void {
    this.#keep(product.id, () => null);
    this.#products.push(product);
    this.#productsById.set(product.id, product);
    for (const variant of product.variants) this.#register(variant);
    this.#listRevision += 1;
  }

  edit(product: Product, change: (product: Product) => void): void {
    this.#touchProduct(product);
    change(product);
    product.updateTimeMs = Math.max(product.updateTimeMs, this.#clock.now());
    this.#listRevision += 1;
  }

  addVariant(variant: Variant): void {
    this.edit(variant.product, ({ variants }) => {
      variants.push(variant);
      this.#register(variant);
    });
  }

  setDeleted(product: Product, deleted: boolean): void {
    if (product.deleted === deleted) return;
    this.edit(product, () => {
      for (const variant of product.variants) {
        if (variant.deleted) continue;
        this.touch(variant);
        this.#joinComponents(variant, deleted ? 'unlink' : 'link');
      }
      product.deleted = deleted;
    });
  }

  deleteVariant(variant: Variant): void {
    this.touch(variant);
    this.edit(variant.product, () => {
      this.#joinComponents(variant, 'unlink');
      variant.deleted = true;
    });
  }

  moveVariant(variant: Variant, product: Product): void {
    this.touch(variant);
    this.edit(variant.product, ({ variants }) => {
      variants.splice(variants.indexOf(variant), 1);
    });
    this.edit(product, ({ variants }) => {
      variants.push(variant);
      variant.product = product;
    });
  }

  touch(variant: Variant): void {
    this.#touchProduct(variant.product);
    for (const bundle of variant.bundledBy) this.#touchProduct(bundle.product);
  }

  detail(productId: string, ageMs = 0): RenderedProduct | null {
    const product = this.#productsById.get(productId);
    if (product === undefined) return null;
    const atMs = this.#clock.baseNow() - ageMs;
    const past = this.#pasts.get(productId)?.find(({ untilMs }) => ageMs > 0 && untilMs > atMs);
    return past === undefined ? this.#shown(product) : past.state;
  }

  snapshot() {
    const products = this.#products.filter(({ deleted }) => !deleted);
    const variants = products.flatMap((product) => product.variants.filter(({ deleted }) => !deleted));
    return {
      products: products.map(({ id, name }) => ({ productId: id, name })),
      variants: variants.map((variant) => ({
        variantId: variant.id,
        productId: variant.product.id,
        kind: variant.kind,
        availableQty: sellable(variant),
      })),
      levels: variants.flatMap(({ id, product, sku, kind, levels }) =>
        levels.map((level) => ({
          variantId: id,
          warehouseId: level.warehouseId,
          productId: product.id,
          sku,
          kind,
          availableQty: available(level),
          // The store shows only the available quantity of a pulled variant.
          onHand: kind === 'pulled' ? null : level.onHand,
          reservedQty: kind === 'pulled' ? null : level.reserved,
        })),
      ),
    };
  }

  #shown(product: Product): RenderedProduct | null {
    return product.deleted ? null : renderProduct(product);
  }

  #register(variant: Variant): void {
    this.#variants.push(variant);
    this.#variantsById.set(variant.id, variant);
    this.#joinComponents(variant, 'link');
  }

  #touchProduct(product: Product): void {
    this.#keep(product.id, () => this.#shown(product));
  }

  #keep(productId: string, state: () => RenderedProduct | null): void {
    const nowMs = this.#clock.baseNow();
    const pasts = this.#pasts.get(productId) ?? [];
    // Changes of one instant become visible together: only the state before the first is kept.
    if ((pasts.at(-1)?.untilMs ?? -Infinity) < nowMs) {
      const kept = pasts.filter(({ untilMs }) => untilMs >= nowMs - KEEP_MS);
      this.#pasts.delete(productId);
      this.#pasts.set(productId, [...kept, { untilMs: nowMs, state: state() }]);
    }
    // Otherwise a large catalogue would stay in memory twice.
    for (const [id, all] of this.#pasts) {
      if ((all.at(-1)?.untilMs ?? 0) >= nowMs - KEEP_MS) break;
      this.#pasts.delete(id);
    }
  }

  #joinComponents(variant: Variant, change: 'link' | 'unlink'): void {
    if (variant.kind !== 'bundle') return;
    for (const { variant: component } of variant.components) {
      this.#touchProduct(component.product);
      if (change === 'link') component.bundledBy.add(variant);
      else component.bundledBy.delete(variant);
    }
  }
}

function live<T extends { readonly deleted: boolean }>(item: T | undefined): T | undefined {
  return item === undefined || item.deleted ? undefined : item;
}
