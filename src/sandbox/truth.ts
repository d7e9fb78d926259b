import type { RenderedProduct } from './answers.ts';
import type { Clock } from './clock.ts';
import { createHistory } from './history.ts';
import { available, sellable } from './model.ts';
import type { Cell, Kind, Product, Variant } from './model.ts';
import { renderProduct } from './render.ts';
import type { Store } from './render.ts';

export type TruthCell = {
  variantId: string;
  warehouseId: string;
  productId: string;
  sku: string | null;
  kind: Kind;
  availableQty: number;
  /** Null for a pulled variant: the stock is the seller's, and the store shows only the available quantity. */
  onHand: number | null;
  reservedQty: number | null;
};

export type TruthSnapshot = {
  cells: TruthCell[];
  variants: { variantId: string; productId: string; kind: Kind; availableQty: number }[];
  products: { productId: string; name: string }[];
};

export type Truth = Store & {
  readonly warehouseIds: readonly string[];
  readonly sellerWarehouseIds: readonly string[];
  /** Live products and variants by id; undefined when deleted or unknown. */
  product(id: string): Product | undefined;
  variant(id: string): Variant | undefined;
  cell(variantId: string, warehouseId: string): Cell | undefined;
  /** Every product, in order of creation, deleted ones included. */
  readonly products: readonly Product[];
  readonly variants: readonly Variant[];
  /** Grows when a list changes: the set of products, a name or an edit time. */
  readonly listRevision: number;
  add(product: Product): void;
  addVariant(variant: Variant): void;
  setProductDeleted(product: Product, deleted: boolean): void;
  deleteVariant(variant: Variant): void;
  moveVariant(variant: Variant, product: Product): void;
  /** Call it before a variant's stock changes: keeps the state for stale reads. */
  touch(variant: Variant): void;
  /** Call it after a product was edited, and `touchProduct` before. */
  edited(product: Product): void;
  touchProduct(product: Product): void;
  /** The product as `/v1/product/detail` shows it now, or showed it `ageMs` ago; null: none. */
  detail(productId: string, ageMs?: number): RenderedProduct | null;
  /** What the mirror must equal at the end. */
  snapshot(): TruthSnapshot;
};

export type TruthOptions = Store & {
  warehouseIds: readonly string[];
  sellerWarehouseIds: readonly string[];
  clock: Clock;
};

export function createTruth(options: TruthOptions): Truth {
  const { clock, warehouseIds, sellerWarehouseIds, ...store } = options;
  const history = createHistory();
  const products: Product[] = [];
  const variants: Variant[] = [];
  const productsById = new Map<string, Product>();
  const variantsById = new Map<string, Variant>();
  let listRevision = 0;

  const present = (product: Product): RenderedProduct | null =>
    product.deleted ? null : renderProduct(product, store);

  const touchProduct = (product: Product): void => {
    history.record(product.id, clock.baseNow(), () => present(product));
  };
  const touch = (variant: Variant): void => {
    touchProduct(variant.product);
    for (const bundle of variant.bundledBy) touchProduct(bundle.product);
  };
  const edited = (product: Product): void => {
    product.updateTimeMs = Math.max(product.updateTimeMs, clock.now());
    listRevision += 1;
  };
  /** Components refer to the live bundles that use them (`bundled_by_count`). */
  const linkComponents = (variant: Variant, live: boolean): void => {
    if (variant.kind !== 'bundle') return;
    for (const { variant: component } of variant.components) {
      touchProduct(component.product);
      if (live) component.bundledBy.add(variant);
      else component.bundledBy.delete(variant);
    }
  };
  const register = (variant: Variant): void => {
    variants.push(variant);
    variantsById.set(variant.id, variant);
    linkComponents(variant, true);
  };
  const live = <T extends { deleted: boolean }>(item: T | undefined): T | undefined =>
    item === undefined || item.deleted ? undefined : item;
  const liveVariant = (id: string): Variant | undefined => {
    const variant = live(variantsById.get(id));
    return variant === undefined || variant.product.deleted ? undefined : variant;
  };

  return {
    ...store,
    warehouseIds,
    sellerWarehouseIds,
    products,
    variants,
    get listRevision() {
      return listRevision;
    },
    product: (id) => live(productsById.get(id)),
    variant: liveVariant,
    cell: (variantId, warehouseId) =>
      liveVariant(variantId)?.cells.find((cell) => cell.warehouseId === warehouseId),
    add: (product) => {
      history.record(product.id, clock.baseNow(), () => null);
      products.push(product);
      productsById.set(product.id, product);
      product.variants.forEach(register);
      listRevision += 1;
    },
    addVariant: (variant) => {
      touchProduct(variant.product);
      variant.product.variants.push(variant);
      register(variant);
      edited(variant.product);
    },
    setProductDeleted: (product, deleted) => {
      if (product.deleted === deleted) return;
      for (const variant of product.variants) {
        if (variant.deleted) continue;
        touch(variant);
        linkComponents(variant, !deleted);
      }
      product.deleted = deleted;
      edited(product);
    },
    deleteVariant: (variant) => {
      touch(variant);
      linkComponents(variant, false);
      variant.deleted = true;
      edited(variant.product);
    },
    moveVariant: (variant, product) => {
      const from = variant.product;
      touch(variant);
      touchProduct(product);
      from.variants.splice(from.variants.indexOf(variant), 1);
      product.variants.push(variant);
      variant.product = product;
      edited(from);
      edited(product);
    },
    touch,
    touchProduct,
    edited,
    detail: (productId, ageMs = 0) => {
      const product = productsById.get(productId);
      if (product === undefined) return null;
      const past = ageMs > 0 ? history.at(productId, clock.baseNow() - ageMs) : undefined;
      return past === undefined ? present(product) : past;
    },
    snapshot: () => {
      const snapshot: TruthSnapshot = { cells: [], variants: [], products: [] };
      for (const product of products) {
        if (product.deleted) continue;
        snapshot.products.push({ productId: product.id, name: product.name });
        for (const variant of product.variants) {
          if (!variant.deleted) appendVariant(snapshot, variant);
        }
      }
      return snapshot;
    },
  };
}

function appendVariant(snapshot: TruthSnapshot, variant: Variant): void {
  const { id: variantId, kind, sku } = variant;
  const productId = variant.product.id;
  snapshot.variants.push({ variantId, productId, kind, availableQty: sellable(variant) });
  const told = kind !== 'pulled';
  for (const cell of variant.cells) {
    snapshot.cells.push({
      variantId,
      warehouseId: cell.warehouseId,
      productId,
      sku,
      kind,
      availableQty: available(cell),
      onHand: told ? cell.onHand : null,
      reservedQty: told ? cell.reserved : null,
    });
  }
}
