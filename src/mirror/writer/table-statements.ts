import type { Db } from '../../sqlite/open.ts';
import { prepareRows } from '../../sqlite/prepared.ts';
import { columnsOf, insertInto, upsert, type RowIn, type TableName } from '../file/statements.ts';

/** Column of `products` that the writer maintains. */
export const NOT_OF_RULES = ['evidenceAtMs'] as const;
/** Column of `variants` that triggers maintain. */
export const COUNTED = ['liveLevels'] as const;
/** Columns of `due_reads` that src/mirror/writer/failures.ts writes. */
export const OF_FAILURES = [
  'attempts',
  'faults',
  'retryAtMs',
  'parked',
  'givenUp',
  'failedAtMs',
  'lastError',
] as const;

export type VariantRow = Omit<RowIn<'variants'>, (typeof COUNTED)[number]>;

/** Rows of `mirror_sellable` whose level, variant or product the last read did not show. */
const MISSING_QUANTITIES = `
  SELECT coalesce(sum(quantities), 0) FROM (
    SELECT sellable_rows AS quantities FROM variants
    WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL AND product_id IS NOT NULL AND sellable_rows > 0
    UNION ALL
    SELECT variants.sellable_rows FROM products
    CROSS JOIN variants ON variants.product_id = products.product_id
    WHERE products.missing_at_ms IS NOT NULL AND products.gone_at_ms IS NULL
      AND variants.missing_at_ms IS NULL AND variants.sellable_rows > 0
    UNION ALL
    SELECT 1 FROM stock_levels
    CROSS JOIN variants ON variants.variant_id = stock_levels.variant_id
    CROSS JOIN products ON products.product_id = variants.product_id
    WHERE stock_levels.missing_at_ms IS NOT NULL AND stock_levels.gone_at_ms IS NULL
      AND variants.sold_as_total = 0 AND variants.missing_at_ms IS NULL AND products.missing_at_ms IS NULL
    LIMIT ?
  )`;

/**
 * The statements of `SqliteTables`: columns named by the schema, prepared once. `+?` hides the value from the planner, which
 * plans again when it changes.
 */
export function prepareTables(db: Db) {
  const rows = <Name extends TableName, Without extends keyof RowIn<Name> = never>(
    table: Name,
    condition: string,
    without: readonly Without[] = [],
  ) =>
    prepareRows<string[], Omit<RowIn<Name>, Without>>(
      db,
      columnsOf(db, table, without),
      (columns) => `SELECT ${columns} FROM ${table} ${condition}`,
    );
  const text = (sql: string) => db.prepare<string[], string>(sql).pluck();
  const countLive = (table: string, condition: string) =>
    db
      .prepare<[number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${condition} AND gone_at_ms IS NULL LIMIT ?)`,
      )
      .pluck();
  return {
    state: rows('mirror_state', '', ['id']),
    putState: db.prepare(upsert(db, 'mirror_state', ['id'])),
    stockLevel: rows('stock_levels', 'WHERE variant_id = +? AND warehouse_id = +?'),
    stockLevelsOf: rows('stock_levels', 'WHERE variant_id = +? ORDER BY warehouse_id'),
    variant: rows('variants', 'WHERE variant_id = +?', COUNTED),
    variantsOf: rows('variants', 'WHERE product_id = +? ORDER BY variant_id', COUNTED),
    product: rows('products', 'WHERE product_id = +?', NOT_OF_RULES),
    detail: text('SELECT detail_json FROM product_details WHERE product_id = +?'),
    putDetail: db.prepare(upsert(db, 'product_details', ['productId'])),
    noteEvidence: db.prepare(
      `UPDATE products SET evidence_at_ms = @atMs WHERE product_id = @productId AND evidence_at_ms < @atMs`,
    ),
    readRequest: rows('due_reads', 'WHERE product_id = +?', OF_FAILURES),
    putReadRequest: db.prepare(upsert(db, 'due_reads', ['productId'], OF_FAILURES)),
    deleteReadRequest: db.prepare('DELETE FROM due_reads WHERE product_id = ?'),
    gapsOf: rows('gaps', 'WHERE variant_id = +? ORDER BY warehouse_id, inbox_seq, kind'),
    putGap: db.prepare(upsert(db, 'gaps', ['variantId', 'warehouseId', 'inboxSeq', 'kind'])),
    deleteGap: db.prepare(
      'DELETE FROM gaps WHERE variant_id = ? AND warehouse_id = ? AND inbox_seq = ? AND kind = ?',
    ),
    putDeadLetter: db.prepare(insertInto(db, 'dead_letters', ['id'])),
    bundleProducts: text(
      'SELECT product_id FROM products WHERE has_bundle = 1 AND gone_at_ms IS NULL ORDER BY product_id',
    ),
    heldProducts: text('SELECT product_id FROM due_reads WHERE held = 1 ORDER BY product_id'),
    quantityCount: db.prepare<[], number>('SELECT sellable FROM live_counts').pluck(),
    bundleCount: countLive('products', 'has_bundle = 1'),
    missingProducts: prepareRows<[], { readonly productId: string; readonly missingAtMs: number }>(
      db,
      { productId: 'product_id', missingAtMs: 'missing_at_ms' },
      (columns) => `
        SELECT ${columns} FROM products
        WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL
        ORDER BY product_id`,
    ),
    missingQuantities: db.prepare<[number], number>(MISSING_QUANTITIES).pluck(),
  };
}
