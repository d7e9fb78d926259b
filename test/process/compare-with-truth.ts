/** Holds what an ERP sees in the mirror against the simulated service's truth. */
import Database from 'better-sqlite3';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

interface StockRow {
  readonly variant_id: string;
  readonly warehouse_id: string;
  readonly product_id: string | null;
  readonly sku: string | null;
  readonly available_qty: number;
}
interface VariantRow {
  readonly variant_id: string;
  readonly product_id: string;
  readonly kind: string;
  readonly available_qty: number;
}
interface ProductRow {
  readonly product_id: string;
  readonly name: string;
}

/**
 * Every cell, total and product of the public views. A pulled variant's cells are the seller's: a detail does not tell
 * them, so after a lost delivery no read can mend them, and they are not compared.
 *
 * @returns one line per difference; none when the mirror equals the truth.
 */
export function compareWithTruth(databasePath: string, sandbox: Sandbox): string[] {
  const db = new Database(databasePath, { readonly: true, fileMustExist: true });
  try {
    const truth = sandbox.truth.snapshot();
    // One read transaction: all three views of one instant.
    return db.transaction(() => [
      ...differences({
        what: 'cell',
        expected: new Map(
          truth.cells.map((cell) => [
            `${cell.variantId}/${cell.warehouseId}`,
            {
              figures: `${cell.productId} ${cell.sku ?? '-'} ${cell.availableQty}`,
              required: cell.kind !== 'pulled',
            },
          ]),
        ),
        found: db
          .prepare<[], StockRow>(
            `SELECT * FROM mirror_stock
             WHERE variant_id NOT IN (SELECT variant_id FROM mirror_variants WHERE kind = 'pulled')`,
          )
          .all()
          .map((row) => [
            `${row.variant_id}/${row.warehouse_id}`,
            `${row.product_id ?? '-'} ${row.sku ?? '-'} ${row.available_qty}`,
          ]),
      }),
      ...differences({
        what: 'variant',
        expected: new Map(
          truth.variants.map((variant) => [
            variant.variantId,
            { figures: `${variant.productId} ${variant.kind} ${variant.availableQty}`, required: true },
          ]),
        ),
        found: db
          .prepare<[], VariantRow>('SELECT * FROM mirror_variants')
          .all()
          .map((row) => [row.variant_id, `${row.product_id} ${row.kind} ${row.available_qty}`]),
      }),
      ...differences({
        what: 'product',
        expected: new Map(
          truth.products.map((product) => [product.productId, { figures: product.name, required: true }]),
        ),
        found: db
          .prepare<[], ProductRow>('SELECT product_id, name FROM mirror_products')
          .all()
          .map((row) => [row.product_id, row.name]),
      }),
    ])();
  } finally {
    db.close();
  }
}

function differences(compared: {
  what: string;
  expected: ReadonlyMap<string, { readonly figures: string; readonly required: boolean }>;
  found: readonly (readonly [id: string, figures: string])[];
}): string[] {
  const { what, expected } = compared;
  const found = new Map(compared.found);
  const lines: string[] = [];
  if (found.size !== compared.found.length) lines.push(`${what}: the mirror shows an id twice`);
  for (const [id, { figures, required }] of expected) {
    const seen = found.get(id);
    if (seen === undefined && required) lines.push(`${what} ${id} is missing: ${figures}`);
    if (seen !== undefined && seen !== figures) lines.push(`${what} ${id} is ${seen}, in truth ${figures}`);
  }
  for (const [id, figures] of found) {
    if (!expected.has(id)) lines.push(`${what} ${id} should not be there: ${figures}`);
  }
  return lines;
}
