/** What the page's searches through the stock share: what is asked, and conditions on `v`, a row of variants. */

export interface StockSearch {
  /** The beginning of a SKU, the id of a variant or a product, or a part of a name; empty: everything. */
  readonly text: string;
  /** Only variants with stock in this warehouse; null: in any warehouse. */
  readonly warehouseId: string | null;
  /** Only rows under suspicion. */
  readonly suspect: boolean;
  /** Where the previous page ended; null: the first page. */
  readonly after: StockCursor | null;
  readonly limit: number;
}

/** A position in one of the lists that a search goes through; in another search it finds nothing, or starts over. */
export interface StockCursor {
  readonly list: string;
  readonly key: readonly string[];
}

/** `@warehouseId` null: in any warehouse. */
export const IN_WAREHOUSE = `(
  @warehouseId IS NULL OR EXISTS (
    SELECT 1 FROM stock_levels c
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
