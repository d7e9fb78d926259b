/** Conditions on `v`, a row of variants, that the page's searches share. */

/** `@warehouseId` null: in any warehouse. */
export const IN_WAREHOUSE = `(
  @warehouseId IS NULL OR EXISTS (
    SELECT 1 FROM cells c
    WHERE c.variant_id = v.variant_id AND c.warehouse_id = @warehouseId AND c.gone_at_ms IS NULL
  )
)`;

/** A part of its SKU, its name or its product's name; `@lower` as `lowerCase` gives it, empty for any. */
export const NAMED = `(
  @lower = '' OR instr(lower(coalesce(v.sku, '')), @lower) > 0 OR instr(lower(v.name), @lower) > 0
  OR instr(lower(coalesce((SELECT p.name FROM products p WHERE p.product_id = v.product_id), '')), @lower) > 0
)`;

/** Like SQLite's own `lower()`, which knows ASCII letters only: both must agree on what is equal. */
export function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
