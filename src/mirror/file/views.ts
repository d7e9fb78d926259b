import { STATE, STATE_CAUSE } from './state.ts';
import type { Db } from '../../sqlite/open.ts';
import {
  LEVEL_TRUSTED,
  LEVEL_WHY_NOT,
  SUSPECT_COUNT,
  SUSPECT_LEVEL,
  SUSPECT_TOTAL,
  TOTAL_TRUSTED,
  TOTAL_WHY_NOT,
} from './suspicion.ts';

/** SQLite guarantees a view's column names only with AS. */
function columns(row: string, ...names: readonly string[]): string {
  return names.map((name) => `${row}.${name} AS ${name}`).join(', ');
}

/** A subquery, like the names below: it costs nothing unless the column is selected. */
function warehouseNameOf(row: string): string {
  return `(SELECT n.name FROM warehouse_names n WHERE n.warehouse_id = ${row}.warehouse_id) AS warehouse_name`;
}

const STOCK = `
SELECT ${columns('c', 'variant_id', 'warehouse_id')}, ${columns('v', 'product_id', 'sku')},
  p.name AS product_name, v.name AS variant_name,
  c.qty AS available_qty, ${columns('c', 'on_hand', 'reserved_qty', 'source')},
  c.as_of_ms AS as_of, c.on_hand_as_of_ms AS on_hand_as_of, c.verified_at_ms AS verified_at,
  ${SUSPECT_LEVEL} AS suspect, c.change_seq AS change_seq, ${warehouseNameOf('c')}
FROM stock_levels c
JOIN variants v ON v.variant_id = c.variant_id
LEFT JOIN products p ON p.product_id = v.product_id
WHERE c.gone_at_ms IS NULL`;

const VARIANTS = `
SELECT ${columns('v', 'variant_id', 'product_id', 'sku', 'upc')},
  p.name AS product_name, v.name AS variant_name,
  ${columns('v', 'kind', 'available_qty', 'on_hand', 'reserved_qty', 'allow_negative_stock', 'price_json', 'cost')},
  v.as_of_ms AS as_of, v.verified_at_ms AS verified_at, ${SUSPECT_TOTAL} AS suspect, v.change_seq AS change_seq
FROM variants v
LEFT JOIN products p ON p.product_id = v.product_id
WHERE v.gone_at_ms IS NULL AND v.product_id IS NOT NULL AND v.available_qty IS NOT NULL`;

/** The later of the last delivery and the last read. */
const checkedAt = (row: string): string =>
  `max(${row}.event_at_ms, coalesce(${row}.verified_at_ms, ${row}.event_at_ms)) AS checked_at`;

/** Each unit in one row: a variant has either rows of its warehouses or one row of its total. */
const SELLABLE = `
SELECT ${columns('c', 'variant_id', 'warehouse_id')}, ${columns('v', 'product_id', 'sku')},
  p.name AS product_name, v.name AS variant_name, ${warehouseNameOf('c')},
  c.qty AS available_qty, v.allow_negative_stock AS allow_negative_stock,
  ${LEVEL_TRUSTED} AS trusted, ${LEVEL_WHY_NOT} AS why_not,
  ${checkedAt('c')}, c.change_seq AS change_seq
FROM stock_levels c
JOIN variants v ON v.variant_id = c.variant_id
LEFT JOIN products p ON p.product_id = v.product_id
WHERE c.gone_at_ms IS NULL AND v.sold_as_total = 0
UNION ALL
SELECT v.variant_id AS variant_id, CAST(NULL AS TEXT) AS warehouse_id, ${columns('v', 'product_id', 'sku')},
  p.name AS product_name, v.name AS variant_name, CAST(NULL AS TEXT) AS warehouse_name,
  ${columns('v', 'available_qty', 'allow_negative_stock')},
  ${TOTAL_TRUSTED} AS trusted, ${TOTAL_WHY_NOT} AS why_not,
  ${checkedAt('v')}, v.change_seq AS change_seq
FROM variants v
LEFT JOIN products p ON p.product_id = v.product_id
WHERE v.gone_at_ms IS NULL AND v.available_qty IS NOT NULL AND v.sold_as_total = 1`;

const PRODUCTS = `
SELECT ${columns('p', 'product_id', 'name', 'parent_id')},
  p.update_time_ms AS update_time, p.read_at_ms AS verified_at, d.detail_json AS detail_json
FROM products p
JOIN product_details d ON d.product_id = p.product_id
WHERE p.gone_at_ms IS NULL`;

// Current names: removed rows stay in the tables, so they keep their names here.
const CHANGES = `
SELECT ${columns('changes', 'seq', 'variant_id', 'warehouse_id', 'sku', 'old_qty', 'new_qty', 'source', 'reason')},
  ${columns('changes', 'order_id', 'user_id')}, changes.update_time_ms AS update_time,
  changes.recorded_at_ms AS recorded_at, changes.request_id AS request_id,
  changes.new_qty - changes.old_qty AS delta,
  (
    SELECT p.name FROM variants v JOIN products p ON p.product_id = v.product_id WHERE v.variant_id = changes.variant_id
  ) AS product_name,
  (SELECT v.name FROM variants v WHERE v.variant_id = changes.variant_id) AS variant_name,
  ${warehouseNameOf('changes')}
FROM changes`;

/** Each product once: due by a barrier, else by a request, else by a gap. Retries of scheduled reads do not count. */
const PENDING_READS = `(
    WITH barrier (ms) AS (SELECT max(
      m.trusted_after_ms,
      coalesce((SELECT max(read_after_ms) FROM runs WHERE state = 'running' AND product_ids_json IS NULL), m.trusted_after_ms)
    ))
    SELECT (
      SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < barrier.ms
    ) + (
      SELECT count(*) FROM due_reads o WHERE o.reason <> 'stale' AND NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = o.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) + (
      SELECT count(DISTINCT v.product_id) FROM gaps g CROSS JOIN variants v ON v.variant_id = g.variant_id
      WHERE NOT EXISTS (
        SELECT 1 FROM due_reads o WHERE o.product_id = v.product_id AND o.reason <> 'stale'
      ) AND NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) FROM barrier
  ) + (SELECT count(*) FROM variants WHERE lookup_at_ms IS NOT NULL)
  + (m.bundles_due_at_ms IS NOT NULL)`;

const STATUS = `
SELECT
  service_state.epoch AS epoch,
  (SELECT count(*) FROM __drizzle_migrations) AS schema_version,
  ${STATE} AS state,
  ${STATE_CAUSE} AS state_cause,
  m.last_delivery_at_ms AS last_delivery_at,
  service_state.last_full_sync_at_ms AS last_full_sync_at,
  (SELECT min(read_at_ms) FROM products WHERE gone_at_ms IS NULL AND read_at_ms > 0) AS oldest_verified_at,
  ${PENDING_READS} AS pending_reads,
  ${SUSPECT_COUNT} AS suspect_count,
  (SELECT count(*) FROM gaps) AS open_gaps,
  m.change_seq AS last_seq,
  service_state.alive_at_ms AS alive_at,
  service_state.pruned_change_seq AS pruned_change_seq
FROM mirror_state m, service_state`;

const VIEWS = {
  mirror_sellable: SELLABLE,
  mirror_stock: STOCK,
  mirror_variants: VARIANTS,
  mirror_products: PRODUCTS,
  mirror_changes: CHANGES,
  mirror_status: STATUS,
} as const;

/** Creates missing and changed views, so that they need no migration. */
export function createViews(db: Db): void {
  const made = db
    .prepare<[string], string>(`SELECT sql FROM sqlite_master WHERE type = 'view' AND name = ?`)
    .pluck();
  db.transaction(() => {
    for (const [name, select] of Object.entries(VIEWS)) {
      const sql = `CREATE VIEW ${name} AS${select}`;
      if (made.get(name) !== sql) db.exec(`DROP VIEW IF EXISTS ${name}; ${sql}`);
    }
  })();
}
