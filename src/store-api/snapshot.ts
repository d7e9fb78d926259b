import type { LevelSnapshot, ProductSnapshot, VariantSnapshot } from '../core/input.ts';
import type { VariantKind } from '../core/model.ts';
import { ServiceError } from './transport/errors.ts';
import type { ProductDetail, ProductVariantDetail, WarehouseLevel } from './contract/schemas.ts';

/**
 * Makes texts well-formed: the database would return a lone surrogate as another text, and every read would look like a
 * new name. @param detailJson as received, with unknown fields.
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
    createTimeMs: variant.create_time ?? null,
    availableQty: variant.available_qty,
    onHand: variant.on_hand ?? null,
    reservedQty: variant.reserved_qty ?? null,
    allowNegativeStock: variant.allow_negative_stock ?? false,
    priceJson: variant.prices === undefined ? null : JSON.stringify(variant.prices),
    cost: variant.cost ?? null,
    bundledByCount: variant.bundled_by_count ?? 0,
    levels:
      variant.warehouses === undefined
        ? null
        : eachOnce(variant.warehouses.map(levelSnapshot), ({ warehouseId }) => warehouseId),
  };
}

/** @throws ServiceError if a row comes twice with different quantities. */
function eachOnce<T extends { readonly availableQty: number }>(
  rows: readonly T[],
  idOf: (row: T) => string,
): T[] {
  const rowsById = new Map<string, T>();
  for (const row of rows) {
    const id = idOf(row);
    const first = rowsById.get(id) ?? row;
    rowsById.set(id, first);
    if (first.availableQty === row.availableQty) continue;
    const description = `the answer lists ${id} twice, with the quantities ${first.availableQty} and ${row.availableQty}`;
    throw new ServiceError({ kind: 'contract', endpoint: '/v1/product/detail', description });
  }
  return [...rowsById.values()];
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
