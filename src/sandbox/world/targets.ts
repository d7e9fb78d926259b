import { available } from './model.ts';
import type { Cell, Variant } from './model.ts';
import type { Truth } from './truth.ts';

/** An operation that is impossible in the store's current state. Nothing was changed. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
}

/** No warehouse has enough of the variant. */
export class InsufficientStock extends OperationError {
  readonly variantId: string;

  constructor(variantId: string, qty: number) {
    super(`variant ${variantId} has fewer than ${qty} sellable units`);
    this.variantId = variantId;
  }
}

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

/** A stock level of the variant: in the given warehouse, or in its first one. */
export function requireCell(variant: Variant, warehouseId?: string): Cell {
  const cell =
    warehouseId === undefined
      ? variant.cells[0]
      : variant.cells.find((candidate) => candidate.warehouseId === warehouseId);
  if (cell !== undefined) return cell;
  throw new OperationError(
    variant.kind === 'bundle'
      ? `variant ${variant.id} is a bundle and holds no stock of its own`
      : `variant ${variant.id} has no stock in warehouse ${warehouseId ?? '(any)'}`,
  );
}

/** A stock level to take `qty` units from, preferably one that has them. */
export function cellToTakeFrom(
  variant: Variant,
  qty: number,
  from: { readonly warehouseId?: string | undefined; readonly free?: (cell: Cell) => number } = {},
): Cell {
  const { warehouseId, free = available } = from;
  if (warehouseId !== undefined) {
    const cell = requireCell(variant, warehouseId);
    if (variant.allowNegativeStock || free(cell) >= qty) return cell;
  } else {
    const cell = variant.cells.find((candidate) => free(candidate) >= qty);
    if (cell !== undefined) return cell;
    if (variant.allowNegativeStock) return requireCell(variant);
  }
  throw new InsufficientStock(variant.id, qty);
}
