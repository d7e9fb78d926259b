/** A product detail in the form that the merge rules take. */
import type { LevelSnapshot, ProductSnapshot, VariantSnapshot } from '../core/entry.ts';
import type { VariantKind } from '../core/model.ts';
import type { ProductDetail, ProductVariantDetail, WarehouseLevel } from './contract/schemas.ts';

/**
 * Texts are made well-formed: half a surrogate pair would come back from the database as another text, and each read
 * would look like a new name.
 *
 * @param product the checked answer of POST /v1/product/detail.
 * @param detailJson the same as the store sent it, unknown fields kept.
 */
export function snapshotOf(product: ProductDetail, detailJson: string): ProductSnapshot {
  const pulled = product.parent_id !== undefined;
  return {
    storeId: product.store_id,
    name: product.name.toWellFormed(),
    parentId: product.parent_id ?? null,
    updateTimeMs: product.update_time ?? null,
    detailJson,
    variants: eachOnce(
      product.variants.map((variant) => variantSnapshot(variant, { pulled })),
      ({ variantId }) => variantId,
      oneVariant,
    ),
  };
}

function variantSnapshot(
  variant: ProductVariantDetail,
  { pulled }: { readonly pulled: boolean },
): VariantSnapshot {
  return {
    variantId: variant.product_variant_id,
    name: variant.name.toWellFormed(),
    sku: variant.sku === undefined || variant.sku === '' ? null : variant.sku.toWellFormed(),
    upc: variant.upc?.toWellFormed() ?? null,
    kind: kindOf(variant, { pulled }),
    availableQty: variant.available_qty,
    onHand: variant.on_hand ?? null,
    reservedQty: variant.reserved_qty ?? null,
    allowNegativeStock: variant.allow_negative_stock ?? false,
    priceJson: variant.prices === undefined ? null : JSON.stringify(variant.prices),
    cost: variant.cost ?? null,
    bundledByCount: variant.bundled_by_count ?? 0,
    levels: variant.warehouses === undefined ? null : distinctLevels(variant.warehouses.map(levelSnapshot)),
  };
}

/** In the order in which they stand first. */
function eachOnce<T>(told: readonly T[], idOf: (one: T) => string, both: (first: T, again: T) => T): T[] {
  const found = new Map<string, T>();
  for (const one of told) {
    const first = found.get(idOf(one));
    found.set(idOf(one), first === undefined ? one : both(first, one));
  }
  return [...found.values()];
}

function distinctLevels(told: readonly LevelSnapshot[]): LevelSnapshot[] {
  return eachOnce(
    told,
    ({ warehouseId }) => warehouseId,
    (first, again) =>
      first.availableQty === again.availableQty ? first : { ...first, isContradictory: true },
  );
}

/** Told twice: the first describes it. Its warehouses stand in either. */
function oneVariant(first: VariantSnapshot, again: VariantSnapshot): VariantSnapshot {
  const levels =
    first.levels === null || again.levels === null
      ? (first.levels ?? again.levels)
      : distinctLevels([...first.levels, ...again.levels]);
  const agrees = first.availableQty === again.availableQty && again.isContradictory !== true;
  return { ...first, levels, ...(agrees ? {} : { isContradictory: true }) };
}

function kindOf(variant: ProductVariantDetail, { pulled }: { readonly pulled: boolean }): VariantKind {
  if (pulled || variant.pulled_from_product_variant_id !== undefined) return 'pulled';
  if (variant.product_bundle_id !== undefined) return 'bundle';
  return variant.product_assembly_id !== undefined ? 'assembled' : 'own';
}

function levelSnapshot(level: WarehouseLevel): LevelSnapshot {
  return {
    warehouseId: level.wh_id,
    availableQty: level.available_qty,
    onHand: level.on_hand,
    reservedQty: level.reserved_qty,
  };
}
