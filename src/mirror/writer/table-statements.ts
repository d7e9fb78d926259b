import type { Statement } from 'better-sqlite3';
import type { REMOVABLES } from '../../core/apply/fact.ts';
import { EARLIEST_MS } from '../../core/limits.ts';
import type { Gap, MirrorState, Product, ReadRequest, StockLevel, Variant } from '../../core/model.ts';
import type { Db } from '../../sqlite/open.ts';
import { plannedOnce } from '../../sqlite/prepared.ts';
import { insertInto, selectFrom, upsert } from '../file/statements.ts';

export type Kind = (typeof REMOVABLES)[number];
type Flagged<T, K extends keyof T> = Omit<T, K> & Record<K, number>;
export type VariantRow = Flagged<Variant, 'allowNegativeStock'>;
type ReadRequestRow = Flagged<ReadRequest, 'isSuspect'>;
export type BareProduct = Omit<Product, 'detailJson'>;
type ProductRow = Flagged<BareProduct, 'hasBundle'>;

export type LiveCounts = Record<Kind, number>;

/** Column of `products` that the writer maintains. */
export const NOT_OF_RULES = ['evidence_at_ms'];
/** Column of `variants` that the writer maintains. */
export const COUNTED = ['live_levels'];
/** Columns of `due_reads` that src/mirror/writer/failures.ts writes. */
export const OF_FAILURES = [
  'attempts',
  'faults',
  'retry_at_ms',
  'parked',
  'given_up',
  'failed_at_ms',
  'last_error',
];

/** The statements of `SqliteTables`: columns named by the schema, prepared once. */
export function prepareTables(db: Db) {
  const select = <P extends unknown[], R>(sql: string): Statement<P, R> => db.prepare<P, R>(plannedOnce(sql));
  const text = (sql: string) => select<unknown[], string>(sql).pluck();
  const countLive = (table: string, condition: string) =>
    db
      .prepare<[number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${condition} AND gone_at_ms IS NULL LIMIT ?)`,
      )
      .pluck();
  return {
    state: db.prepare<[], MirrorState>(selectFrom(db, 'mirror_state')),
    putState: db.prepare(upsert(db, 'mirror_state', ['id'])),
    stockLevel: select<[string, string], StockLevel>(
      `${selectFrom(db, 'stock_levels')} WHERE variant_id = ? AND warehouse_id = ?`,
    ),
    stockLevelsOf: select<[string], StockLevel>(
      `${selectFrom(db, 'stock_levels')} WHERE variant_id = ? ORDER BY warehouse_id`,
    ),
    variant: select<[string], VariantRow>(`${selectFrom(db, 'variants', COUNTED)} WHERE variant_id = ?`),
    variantsOf: select<[string], VariantRow>(
      `${selectFrom(db, 'variants', COUNTED)} WHERE product_id = ? ORDER BY variant_id`,
    ),
    product: select<[string], ProductRow>(`${selectFrom(db, 'products', NOT_OF_RULES)} WHERE product_id = ?`),
    detail: text('SELECT detail_json FROM product_details WHERE product_id = ?'),
    putDetail: db.prepare(upsert(db, 'product_details', ['product_id'])),
    noteEvidence: db.prepare(
      `UPDATE products SET evidence_at_ms = @atMs WHERE product_id = @productId AND evidence_at_ms < @atMs`,
    ),
    readRequest: select<[string], ReadRequestRow>(
      `${selectFrom(db, 'due_reads', OF_FAILURES)} WHERE product_id = ?`,
    ),
    putReadRequest: db.prepare(upsert(db, 'due_reads', ['product_id'], OF_FAILURES)),
    deleteReadRequest: db.prepare('DELETE FROM due_reads WHERE product_id = ?'),
    gapsOf: select<[string], Gap>(
      `${selectFrom(db, 'gaps')} WHERE variant_id = ? ORDER BY warehouse_id, inbox_seq`,
    ),
    putGap: db.prepare(upsert(db, 'gaps', ['variant_id', 'warehouse_id', 'inbox_seq'])),
    deleteGap: db.prepare('DELETE FROM gaps WHERE variant_id = ? AND warehouse_id = ? AND inbox_seq = ?'),
    putDeadLetter: db.prepare(insertInto(db, 'dead_letters', ['id'])),
    bundleProducts: text(
      'SELECT product_id FROM products WHERE has_bundle = 1 AND gone_at_ms IS NULL ORDER BY product_id',
    ),
    heldProducts: text('SELECT product_id FROM due_reads WHERE held = 1 ORDER BY product_id'),
    liveCounts: db.prepare<[], LiveCounts>(
      'SELECT products AS product, variants AS variant, levels AS level FROM live_counts',
    ),
    putLiveCounts: db.prepare<[LiveCounts]>(
      'UPDATE live_counts SET products = @product, variants = @variant, levels = @level',
    ),
    addLevels: db.prepare<[string, number]>(
      `INSERT INTO product_stock_levels (product_id, levels) VALUES (?, ?)
       ON CONFLICT (product_id) DO UPDATE SET levels = levels + excluded.levels`,
    ),
    addVariantLevels: db.prepare<[number, string]>(
      'UPDATE variants SET live_levels = live_levels + ? WHERE variant_id = ?',
    ),
    bundleCount: countLive('products', 'has_bundle = 1'),
    shownProductCount: countLive('products', `read_at_ms > ${EARLIEST_MS}`),
    missingCount: {
      product: countLive('products', 'missing_at_ms IS NOT NULL'),
      variant: countLive('variants', 'missing_at_ms IS NOT NULL'),
      level: countLive('stock_levels', 'missing_at_ms IS NOT NULL'),
    },
  };
}
