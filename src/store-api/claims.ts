/** Reads the quantities that a body claims, without judging the rest: its signature is missing or wrong. */
import type { Claim } from '../core/input.ts';
import { itemsOf, variantIdOf } from './variant-ids.ts';

export function claimsOf(body: Uint8Array): Claim[] {
  return (itemsOf(body) ?? []).flatMap((item) => {
    const variantId = variantIdOf(item);
    if (variantId === null) return [];
    const { warehouse_id: warehouseId, new: newQty } = item as Readonly<Record<string, unknown>>;
    if (typeof warehouseId !== 'string' || !Number.isSafeInteger(newQty)) return [];
    return [{ variantId, warehouseId, newQty: newQty as number }];
  });
}
