import { ApiError } from '../shared/errors.ts';
import type { Variant } from './model.ts';
import type { NewOrder, PricedLine } from './orders.ts';
import type { Truth } from './truth.ts';

/** The lines of an order, each with its variant and price. Throws ApiError 400 naming the first line that has none. */
export function resolveLines(truth: Truth, products: NewOrder['products']): PricedLine[] {
  const bySku = liveVariantsBySku(truth, new Set(products.flatMap(({ sku }) => sku ?? [])));
  return products.map((line, index) => {
    const variant =
      line.sku === undefined
        ? variantById(truth, line.product_variant_id, index)
        : variantBySku(bySku.get(line.sku) ?? [], line.sku, index);
    return { variant, qty: line.qty, price: line.price ?? variant.price };
  });
}

function variantById(truth: Truth, id: string | undefined, index: number): Variant {
  const variant = id === undefined ? undefined : truth.variant(id);
  if (variant !== undefined) return variant;
  throw refused(`products[${index}].product_variant_id`, 'no such variant for this store');
}

/** Matched exactly. In older data variants can share a SKU; guessing between them would ship the wrong goods. */
function variantBySku(candidates: readonly Variant[], sku: string, index: number): Variant {
  const [variant, ...others] = candidates;
  const field = `products[${index}].sku`;
  if (variant === undefined) throw refused(field, `no such SKU for this store: ${JSON.stringify(sku)}`);
  if (others.length === 0) return variant;
  const ids = candidates.map(({ id }) => id).join(', ');
  throw refused(field, `SKU ${JSON.stringify(sku)} is shared by the variants ${ids}`);
}

/** Goes through the catalogue once for all lines. */
function liveVariantsBySku(truth: Truth, wanted: ReadonlySet<string>): Map<string, Variant[]> {
  const found = new Map<string, Variant[]>();
  if (wanted.size === 0) return found;
  for (const variant of truth.variants) {
    const { sku } = variant;
    if (sku === null || !wanted.has(sku) || truth.variant(variant.id) === undefined) continue;
    const same = found.get(sku);
    if (same === undefined) found.set(sku, [variant]);
    else same.push(variant);
  }
  return found;
}

export function refused(field: string, why: string): ApiError {
  return new ApiError(400, 'invalid_request', `${field}: ${why}`);
}
