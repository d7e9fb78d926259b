import { OperationError } from '../shared/errors.ts';
import { available, type StockLevel, type Variant } from './model.ts';
import type { Truth } from './truth.ts';

export function requireVariant(truth: Truth, variantId: string): Variant {
  const variant = truth.variant(variantId);
  if (variant === undefined) throw new OperationError(`no live variant ${variantId}`);
  return variant;
}

export function requireProduct(truth: Truth, productId: string) {
  const product = truth.product(productId);
  if (product === undefined) throw new OperationError(`no live product ${productId}`);
  return product;
}

export function requireLevel(variant: Variant, warehouseId?: string): StockLevel {
  const level =
    warehouseId === undefined
      ? variant.levels[0]
      : variant.levels.find((candidate) => candidate.warehouseId === warehouseId);
  if (level !== undefined) return level;
  throw new OperationError(
    variant.kind === 'bundle'
      ? `variant ${variant.id} is a bundle, and only its components hold stock`
      : `variant ${variant.id} has no stock in warehouse ${warehouseId ?? '(any)'}`,
  );
}

export function levelToTakeFrom(
  variant: Variant,
  qty: number,
  from: { readonly warehouseId?: string | undefined; readonly free?: (level: StockLevel) => number } = {},
): StockLevel {
  const { warehouseId, free = available } = from;
  if (warehouseId !== undefined) {
    const level = requireLevel(variant, warehouseId);
    if (variant.allowNegativeStock || free(level) >= qty) return level;
  } else {
    const level = variant.levels.find((candidate) => free(candidate) >= qty);
    if (level !== undefined) return level;
    if (variant.allowNegativeStock) return requireLevel(variant);
  }
  throw new OperationError(`variant ${variant.id} has fewer than ${qty} sellable units`);
}
