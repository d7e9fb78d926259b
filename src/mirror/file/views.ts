import { LATEST_MS } from '../../core/limits.ts';
import { ISOLATED_ONE_IN } from '../../core/runs.ts';
import { HEARTBEAT_MS, STATE_CAUSES, STATE_OF_CAUSE, WAITING_MS, type StateCause } from './state.ts';
import type { Db } from '../../sqlite/open.ts';
import { SUSPECT_COUNT, SUSPECT_LEVEL, SUSPECT_TOTAL } from './suspicion.ts';

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

const UNLESS_GIVEN_UP = 'product_id NOT IN (SELECT product_id FROM given_up_reads)';

const CAUSES: Readonly<Record<StateCause, string>> = {
  stopped: 's.stopped_at_ms IS NOT NULL',
  no_heartbeat: `s.alive_at_ms IS NULL OR s.alive_at_ms < now.ms - ${HEARTBEAT_MS}`,
  held_removals: `EXISTS (SELECT 1 FROM read_requests WHERE not_before_ms = ${LATEST_MS})`,
  first_read: 's.last_full_sync_at_ms IS NULL',
  downtime: `EXISTS (
    SELECT 1 FROM products WHERE gone_at_ms IS NULL AND read_at_ms < m.trusted_after_ms AND ${UNLESS_GIVEN_UP}
  )`,
  reads_overdue: `EXISTS (
    SELECT 1 FROM read_requests WHERE is_suspect = 1 AND first_made_at_ms < s.clock_ms - ${WAITING_MS} AND ${UNLESS_GIVEN_UP}
  )`,
  // SQL twin of `isIsolated` in core/runs.ts, negated.
  refused_products: `(
    SELECT g.products > 0 AND (g.products >= live.products OR g.products > max(1, live.products / ${ISOLATED_ONE_IN}))
    FROM live_counts live, (
      SELECT count(*) AS products FROM given_up_reads r CROSS JOIN products p ON p.product_id = r.product_id
      WHERE p.gone_at_ms IS NULL
    ) g
  )`,
};

const CASES = STATE_CAUSES.map((cause) => `WHEN ${CAUSES[cause]} THEN '${cause}'`);

const STATE_CAUSE = `
WITH now (ms) AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
SELECT CASE
  ${CASES.join('\n  ')}
END AS cause
FROM mirror_state m, service_state s, now`;

/** Each product once: due by a barrier, else by a request, else by a gap. */
const PENDING_READS = `(
    WITH barrier (ms) AS (SELECT max(
      m.trusted_after_ms,
      coalesce((SELECT max(read_after_ms) FROM runs WHERE state = 'running' AND product_ids_json IS NULL), m.trusted_after_ms)
    ))
    SELECT (
      SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < barrier.ms
    ) + (
      SELECT count(*) FROM read_requests o WHERE NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = o.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) + (
      SELECT count(DISTINCT v.product_id) FROM gaps g CROSS JOIN variants v ON v.variant_id = g.variant_id
      WHERE NOT EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id) AND NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) FROM barrier
  ) + (SELECT count(*) FROM variants WHERE lookup_at_ms IS NOT NULL)
  + (m.bundles_due_at_ms IS NOT NULL)`;

const STATES = Object.entries(STATE_OF_CAUSE).map(([cause, state]) => `WHEN '${cause}' THEN '${state}'`);

const STATUS = `
SELECT
  s.epoch AS epoch,
  (SELECT count(*) FROM __drizzle_migrations) AS schema_version,
  CASE (SELECT cause FROM state_cause)
    ${STATES.join('\n    ')}
    ELSE 'live'
  END AS state,
  m.last_delivery_at_ms AS last_delivery_at,
  s.last_full_sync_at_ms AS last_full_sync_at,
  (SELECT min(read_at_ms) FROM products WHERE gone_at_ms IS NULL AND read_at_ms > 0) AS oldest_verified_at,
  ${PENDING_READS} AS pending_reads,
  ${SUSPECT_COUNT} AS suspect_count,
  (SELECT count(*) FROM gaps) AS open_gaps,
  m.change_seq AS last_seq,
  s.alive_at_ms AS alive_at,
  s.pruned_change_seq AS pruned_change_seq
FROM mirror_state m, service_state s`;

const VIEWS = {
  mirror_stock: STOCK,
  mirror_variants: VARIANTS,
  mirror_products: PRODUCTS,
  mirror_changes: CHANGES,
  state_cause: STATE_CAUSE,
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
