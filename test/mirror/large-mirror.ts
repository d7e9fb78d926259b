/** A mirror of a large store, made of SQL in a second or two instead of by the writer in minutes. */
import type { Db } from '../../src/sqlite/open.ts';
import { T0 } from './mirror-file.ts';

interface Size {
  readonly products: number;
  /** Each with two changes. */
  readonly deliveries: number;
}

const VARIANTS_EACH = 2;
const WAREHOUSES_EACH = 2;
/** One product in so many is suspect; one in five times as many, gaps. */
const SUSPECT_EVERY = 20;

/** Ids are 10000001 and on; of each product the variants are its id with 1 and 2 behind it. Nothing is older than a day. */
export function fillMirror(db: Db, { products, deliveries }: Size): void {
  const counted = (name: string, to: number): string =>
    `${name}(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ${name} WHERE n < ${to})`;
  const of = `WITH RECURSIVE ${counted('p', products)}, ${counted('v', VARIANTS_EACH)}, ${counted('w', WAREHOUSES_EACH)}`;
  const run = (sql: string, args: object = {}): void => void db.prepare(sql).run({ t0: T0, ...args });
  const productId = `CAST(10000000 + p.n AS TEXT)`;
  const variantId = `${productId} || v.n`;
  db.transaction(() => {
    run(`${of} INSERT INTO products (product_id, name, read_seq, read_at_ms, has_bundle)
      SELECT ${productId}, 'Product ' || p.n, 0, @t0 - p.n % 86400000, 0 FROM p`);
    run(`${of} INSERT INTO variants (variant_id, product_id, sku, name, kind, available_qty, allow_negative_stock,
        bundled_by_count, as_of_ms, verified_at_ms, event_seq, event_at_ms, change_seq)
      SELECT ${variantId}, ${productId}, 'SKU-' || ${variantId}, 'Variant ' || v.n, 'own', 20, 0, 0, @t0, @t0, 0, @t0,
        p.n * ${VARIANTS_EACH} + v.n
      FROM p, v`);
    run(`${of} INSERT INTO stock_levels (variant_id, warehouse_id, qty, source, as_of_ms, event_time_ms, event_old, event_count,
        event_seq, event_at_ms, read_lo_ms, read_hi_ms, verified_at_ms, on_hand, reserved_qty, change_seq)
      SELECT ${variantId}, CAST(w.n AS TEXT), 10, 'read', @t0, @t0, 0, 1, 0, @t0, @t0, @t0, @t0, 11, 1,
        (p.n * ${VARIANTS_EACH} + v.n) * ${WAREHOUSES_EACH} + w.n
      FROM p, v, w`);
    run(`${of} INSERT INTO product_details (product_id, detail_json)
      SELECT ${productId}, json_object('id', ${productId}, 'name', 'Product ' || p.n, 'store_id', '1',
        'description', printf('%0800d', p.n), 'variants', json((
          SELECT json_group_array(json_object('product_variant_id', ${productId} || n, 'name', 'Variant ' || n,
            'sku', 'SKU-' || ${productId} || n, 'available_qty', 20, 'weight', 1))
          FROM (SELECT 1 AS n UNION ALL SELECT 2)
        )))
      FROM p`);
    // Deliveries are spread over the products, but every hundredth change is of the first variant in the second warehouse.
    const spread = `CASE WHEN n % 100 = 0 THEN '100000011' ELSE CAST(10000001 + (n * 7919) % ${products} AS TEXT) || '1' END`;
    const inbox = `WITH RECURSIVE ${counted('d', deliveries)}`;
    run(`${inbox} INSERT INTO inbox (seq, arrived_at_ms, body_hash, body)
      SELECT n, @t0 - (${deliveries} - n) * 100, CAST(printf('%016d', n) AS BLOB),
        CAST(json_object('request_id', 'r' || n, 'event_type', 'stock_available_updated', 'request_time', @t0, 'data',
          json_object('items', json_array(
            json_object('id', ${spread}, 'sku', 'SKU', 'old', n % 50, 'new', n % 50 + 1, 'warehouse_id', '1',
              'update_time', @t0 - (${deliveries} - n) * 100, 'reason', 'user_added', 'user_id', '1'),
            json_object('id', ${spread}, 'sku', 'SKU', 'old', n % 50, 'new', n % 50 + 1, 'warehouse_id', '2',
              'update_time', @t0 - (${deliveries} - n) * 100, 'reason', 'user_added', 'user_id', '1')
          ))) AS BLOB)
      FROM d`);
    run(`${inbox} INSERT INTO changes (seq, inbox_seq, variant_id, warehouse_id, sku, old_qty, new_qty, source, reason,
        user_id, update_time_ms, recorded_at_ms, request_id)
      SELECT n * 2 + k, n, ${spread}, CAST(k + 1 AS TEXT), 'SKU', n % 50, n % 50 + 1,
        CASE WHEN n % 50 = 0 THEN 'read' ELSE 'webhook' END,
        CASE n % 50 WHEN 0 THEN CASE n % 4 WHEN 0 THEN 'gap' ELSE 'lost_tail' END ELSE 'user_added' END,
        '1', @t0 - (${deliveries} - n) * 100, @t0 - (${deliveries} - n) * 100, 'r' || n
      FROM d, (SELECT 0 AS k UNION ALL SELECT 1)`);
    run(`${of} INSERT INTO read_requests (product_id, reason, priority, is_suspect, made_seq, made_at_ms, first_made_at_ms, not_before_ms)
      SELECT ${productId}, 'conflict', 3, 1, 1, @t0, @t0 - p.n, @t0 FROM p WHERE p.n % ${SUSPECT_EVERY} = 0`);
    run(`${of} INSERT INTO gaps (variant_id, warehouse_id, opened_seq, opened_at_ms, due_at_ms, from_qty, to_qty)
      SELECT ${variantId}, '1', 1, @t0, @t0, 1, 2 FROM p, v WHERE p.n % ${SUSPECT_EVERY * 5} = 1`);
    run(`WITH RECURSIVE ${counted('d', 500)} INSERT INTO dead_letters (id, inbox_seq, arrived_at_ms, item_index, problem, variant_id)
      SELECT n, n * 3, @t0, 0, 'data.items[0].new: expected number', '100000011' FROM d`);
    run(`WITH RECURSIVE ${counted('d', 200)} INSERT INTO runs (kind, state, started_at_ms, finished_at_ms, read_after_ms,
        list_offset, list_done, started_seq, total, done, drift, failed)
      SELECT 'scheduled', 'done', @t0, @t0, @t0, 0, 1, 1, 1, 1, 0, 0 FROM d`);
    run(
      'UPDATE mirror_state SET change_seq = (SELECT max(seq) FROM changes), inbox_seq = (SELECT max(seq) FROM inbox), trusted_after_ms = @t0 - 90000000',
    );
    run('UPDATE service_state SET alive_at_ms = @t0, last_full_sync_at_ms = @t0');
  })();
}
