import { READ_FAILED } from '../../core/reasons.ts';
import type { Db } from '../../sqlite/open.ts';
import { transact } from '../../sqlite/transact.ts';
import { CAUSES_JSON, STATE, STATE_CAUSE } from './state.ts';
import {
  LEVEL_TRUSTED,
  LEVEL_WHY_NOT,
  SUSPECT_STOCK,
  SUSPECT_TOTAL,
  TOTAL_TRUSTED,
  TOTAL_WHY_NOT,
} from './suspicion.ts';
import type { ViewName } from './view-columns.ts';

/** SQLite guarantees a view's column names only with AS. */
function columns(table: string, ...names: readonly string[]): string {
  return names.map((name) => `${table}.${name} AS ${name}`).join(',\n  ');
}

/** A subquery, like the names below: it costs nothing unless the column is selected. */
function warehouseNameOf(table: string): string {
  return `(
    SELECT warehouse_names.name FROM warehouse_names WHERE warehouse_names.warehouse_id = ${table}.warehouse_id
  ) AS warehouse_name`;
}

const STOCK = `
SELECT
  ${columns('stock_levels', 'variant_id', 'warehouse_id')},
  ${columns('variants', 'product_id', 'sku')},
  products.name AS product_name,
  variants.name AS variant_name,
  stock_levels.qty AS available_qty,
  ${columns('stock_levels', 'on_hand', 'reserved_qty', 'source')},
  stock_levels.as_of_ms AS as_of,
  stock_levels.on_hand_as_of_ms AS on_hand_as_of,
  stock_levels.verified_at_ms AS verified_at,
  ${SUSPECT_STOCK} AS suspect,
  stock_levels.change_seq AS change_seq,
  ${warehouseNameOf('stock_levels')},
  variants.sold_as_total = 0 AS sellable
FROM stock_levels
JOIN variants ON variants.variant_id = stock_levels.variant_id
LEFT JOIN products ON products.product_id = variants.product_id
WHERE stock_levels.gone_at_ms IS NULL`;

const VARIANTS = `
SELECT
  ${columns('variants', 'variant_id', 'product_id', 'sku', 'upc')},
  products.name AS product_name,
  variants.name AS variant_name,
  ${columns('variants', 'kind', 'available_qty', 'on_hand', 'reserved_qty', 'allow_negative_stock')},
  ${columns('variants', 'price_json', 'cost')},
  variants.as_of_ms AS as_of,
  variants.verified_at_ms AS verified_at,
  ${SUSPECT_TOTAL} AS suspect,
  variants.change_seq AS change_seq
FROM variants
LEFT JOIN products ON products.product_id = variants.product_id
WHERE variants.gone_at_ms IS NULL AND variants.product_id IS NOT NULL AND variants.available_qty IS NOT NULL`;

/** The later of the last delivery and the last read. */
const checkedAt = (table: string): string =>
  `max(${table}.event_at_ms, coalesce(${table}.verified_at_ms, ${table}.event_at_ms)) AS checked_at`;

/** Each unit in one row: a variant has either rows of its warehouses or one row of its total. */
const SELLABLE = `
SELECT
  ${columns('stock_levels', 'variant_id', 'warehouse_id')},
  ${columns('variants', 'product_id', 'sku')},
  products.name AS product_name,
  variants.name AS variant_name,
  ${warehouseNameOf('stock_levels')},
  stock_levels.qty AS available_qty,
  variants.allow_negative_stock AS allow_negative_stock,
  ${LEVEL_TRUSTED} AS trusted,
  ${LEVEL_WHY_NOT} AS why_not,
  ${checkedAt('stock_levels')},
  stock_levels.change_seq AS change_seq
FROM stock_levels
JOIN variants ON variants.variant_id = stock_levels.variant_id
LEFT JOIN products ON products.product_id = variants.product_id
WHERE stock_levels.gone_at_ms IS NULL AND variants.sold_as_total = 0
UNION ALL
SELECT
  variants.variant_id AS variant_id,
  CAST(NULL AS TEXT) AS warehouse_id,
  ${columns('variants', 'product_id', 'sku')},
  products.name AS product_name,
  variants.name AS variant_name,
  CAST(NULL AS TEXT) AS warehouse_name,
  ${columns('variants', 'available_qty', 'allow_negative_stock')},
  ${TOTAL_TRUSTED} AS trusted,
  ${TOTAL_WHY_NOT} AS why_not,
  ${checkedAt('variants')},
  variants.change_seq AS change_seq
FROM variants
LEFT JOIN products ON products.product_id = variants.product_id
WHERE variants.gone_at_ms IS NULL AND variants.available_qty IS NOT NULL AND variants.sold_as_total = 1`;

const PRODUCTS = `
SELECT
  ${columns('products', 'product_id', 'name', 'parent_id')},
  products.update_time_ms AS update_time,
  products.read_at_ms AS verified_at,
  product_details.detail_json AS detail_json
FROM products
JOIN product_details ON product_details.product_id = products.product_id
WHERE products.gone_at_ms IS NULL`;

// Current names: removed rows stay in the tables, so they keep their names here.
const CHANGES = `
SELECT
  ${columns('changes', 'seq', 'variant_id', 'warehouse_id', 'sku', 'old_qty', 'new_qty', 'source', 'reason')},
  ${columns('changes', 'order_id', 'user_id')},
  changes.update_time_ms AS update_time,
  changes.recorded_at_ms AS recorded_at,
  changes.request_id AS request_id,
  changes.new_qty - changes.old_qty AS delta,
  (
    SELECT products.name FROM variants
    JOIN products ON products.product_id = variants.product_id
    WHERE variants.variant_id = changes.variant_id
  ) AS product_name,
  (SELECT variants.name FROM variants WHERE variants.variant_id = changes.variant_id) AS variant_name,
  ${warehouseNameOf('changes')}
FROM changes`;

/** Product `id` is due by the barrier: the instant after which every product must be read. */
const dueByBarrier = (id: string): string => `
        SELECT 1 FROM products
        WHERE products.product_id = ${id} AND products.gone_at_ms IS NULL AND products.read_at_ms < barrier.ms`;

/** Reasons of rows in `due_reads` that do not count: a retry of a scheduled read, and a removal that waits to be confirmed. */
const NOT_PENDING = `'${READ_FAILED}', 'confirm_removal'`;

/** Each product once: due by a barrier, else by a request, else by a gap. */
const PENDING_READS = `(
    WITH barrier (ms) AS (
      SELECT max(
        mirror_state.trusted_after_ms,
        coalesce(
          (SELECT max(read_after_ms) FROM runs WHERE state = 'running' AND product_ids_json IS NULL),
          mirror_state.trusted_after_ms
        )
      )
    )
    SELECT (
      SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < barrier.ms
    ) + (
      SELECT count(*) FROM due_reads
      WHERE due_reads.reason NOT IN (${NOT_PENDING}) AND NOT EXISTS (${dueByBarrier('due_reads.product_id')}
      )
    ) + (
      SELECT count(DISTINCT variants.product_id) FROM gaps
      CROSS JOIN variants ON variants.variant_id = gaps.variant_id
      WHERE NOT EXISTS (
        SELECT 1 FROM due_reads
        WHERE due_reads.product_id = variants.product_id AND due_reads.reason NOT IN (${NOT_PENDING})
      ) AND NOT EXISTS (${dueByBarrier('variants.product_id')}
      )
    ) FROM barrier
  ) + (mirror_state.bundles_due_at_ms IS NOT NULL AND EXISTS (
    SELECT 1 FROM variants WHERE variants.kind = 'bundle' AND variants.gone_at_ms IS NULL
  ))`;

const STATUS = `
SELECT
  service_state.epoch AS epoch,
  (SELECT count(*) FROM __drizzle_migrations) AS schema_version,
  ${STATE} AS state,
  ${STATE_CAUSE} AS state_cause,
  ${CAUSES_JSON} AS causes,
  mirror_state.last_delivery_at_ms AS last_delivery_at,
  service_state.last_full_sync_at_ms AS last_full_sync_at,
  (SELECT min(read_at_ms) FROM products WHERE gone_at_ms IS NULL AND read_at_ms > 0) AS oldest_verified_at,
  ${PENDING_READS} AS pending_reads,
  (SELECT count(*) FROM gaps WHERE kind = 'loss') AS open_gaps,
  mirror_state.change_seq AS last_seq,
  service_state.alive_at_ms AS alive_at,
  service_state.pruned_change_seq AS pruned_change_seq
FROM mirror_state, service_state`;

const SELECTS: Readonly<Record<ViewName, string>> = {
  mirror_sellable: SELLABLE,
  mirror_stock: STOCK,
  mirror_variants: VARIANTS,
  mirror_products: PRODUCTS,
  mirror_changes: CHANGES,
  mirror_status: STATUS,
};

/** Creates missing and changed views, so that they need no migration. */
export function createViews(db: Db): void {
  const made = db
    .prepare<[string], string>(`SELECT sql FROM sqlite_master WHERE type = 'view' AND name = ?`)
    .pluck();
  transact(db, () => {
    for (const [name, select] of Object.entries(SELECTS)) {
      const sql = `CREATE VIEW ${name} AS${select}`;
      if (made.get(name) !== sql) db.exec(`DROP VIEW IF EXISTS ${name}; ${sql}`);
    }
  });
}
