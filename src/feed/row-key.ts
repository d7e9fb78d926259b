import type { RowKey } from './model.ts';

export function toKey({ variant_id: variantId, warehouse_id: warehouseId }: RowKey): RowKey {
  return { variant_id: variantId, warehouse_id: warehouseId };
}

export function keyOf({ variant_id: variantId, warehouse_id: warehouseId }: RowKey): string {
  return `${variantId}:${warehouseId ?? ''}`;
}
