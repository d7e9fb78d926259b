/** Conditions on `v`, a row of variants, that the page's searches share. */

/** `@warehouseId` null: in whatever warehouse. */
export const IN_WAREHOUSE = `(
  @warehouseId IS NULL OR EXISTS (
    SELECT 1 FROM cells c
    WHERE c.variant_id = v.variant_id AND c.warehouse_id = @warehouseId AND c.gone_at_ms IS NULL
  )
)`;

/** A part of its SKU, its name or its product's; `@lower` as `lowerCase` gives it, empty for any. */
export const NAMED = `(
  @lower = '' OR instr(lower(coalesce(v.sku, '')), @lower) > 0 OR instr(lower(v.name), @lower) > 0
  OR instr(lower(coalesce((SELECT p.name FROM products p WHERE p.product_id = v.product_id), '')), @lower) > 0
)`;

/** As SQLite's own `lower()`, which knows the letters of ASCII alone: what both take to be one must be one. */
export function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
