/** Databases of any size, made by SQL alone: a first sync of ten million cells would take hours. */
import Database from 'better-sqlite3';
import { openWriter } from '../../src/store/open.ts';
import type { Cells } from './deliveries.ts';

const WAREHOUSES = 3;
const VARIANTS_A_PRODUCT = 3;
const FIRST_ID = 100_000_000_000;
const QTY = 50;

/** What `fillDatabase` puts in, by index. */
export class FilledCells implements Cells {
  readonly count: number;

  constructor(count: number) {
    this.count = count;
  }
  name(index: number) {
    const variant = Math.floor(index / WAREHOUSES);
    return {
      variantId: String(FIRST_ID + variant),
      sku: `SKU-${variant}`,
      warehouseId: String(701 + (index % WAREHOUSES)),
    };
  }
  qty(): number {
    return QTY;
  }
}

/**
 * As a first read of the whole catalogue leaves it: products with three variants in three warehouses each, a change
 * of the feed for every cell.
 */
export function fillDatabase(path: string, cells: number): void {
  openWriter(path).close();
  const db = new Database(path);
  try {
    // Nobody needs what a crash would leave.
    db.pragma('journal_mode = OFF');
    db.pragma('synchronous = OFF');
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('cache_size = -1048576');
    const indexes = db
      .prepare<[], { name: string; sql: string }>(
        `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL
         AND tbl_name IN ('cells', 'variants', 'products', 'changes')`,
      )
      .all();
    for (const { name } of indexes) db.exec(`DROP INDEX "${name}"`);
    const variants = Math.ceil(cells / WAREHOUSES);
    const products = Math.ceil(variants / VARIANTS_A_PRODUCT);
    const atMs = Date.now() - 60_000;
    const count = (rows: number) =>
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${rows})`;
    db.exec('BEGIN');
    db.exec(`${count(products)}
      INSERT INTO products (product_id, name, update_time_ms, read_seq, read_at_ms, has_bundle)
      SELECT CAST(${FIRST_ID} + i AS TEXT), 'Product ' || i, ${atMs}, 1, ${atMs}, 0 FROM n`);
    db.exec(`${count(variants)}
      INSERT INTO variants (variant_id, product_id, sku, name, kind, available_qty, on_hand, reserved_qty,
        allow_negative_stock, cost, bundled_by_count, as_of_ms, verified_at_ms, event_seq, event_at_ms, change_seq)
      SELECT CAST(${FIRST_ID} + i AS TEXT), CAST(${FIRST_ID} + i / ${VARIANTS_A_PRODUCT} AS TEXT), 'SKU-' || i,
        'Variant ' || i, 'own', ${QTY * WAREHOUSES}, ${QTY * WAREHOUSES}, 0, 0, '1.00', 0, ${atMs}, ${atMs}, 0, 0,
        (i + 1) * ${WAREHOUSES} FROM n`);
    db.exec(`${count(cells)}
      INSERT INTO cells (variant_id, warehouse_id, qty, source, as_of_ms, event_time_ms, event_old, event_count,
        event_seq, event_at_ms, read_lo_ms, read_hi_ms, verified_at_ms, on_hand, reserved_qty, on_hand_as_of_ms,
        change_seq)
      SELECT CAST(${FIRST_ID} + i / ${WAREHOUSES} AS TEXT), CAST(701 + i % ${WAREHOUSES} AS TEXT), ${QTY}, 'read',
        ${atMs}, 0, 0, 0, 0, 0, ${atMs - 2_000}, ${atMs}, ${atMs}, ${QTY}, 0, ${atMs}, i + 1 FROM n`);
    db.exec(`${count(cells)}
      INSERT INTO changes (seq, log_seq, variant_id, warehouse_id, sku, new_qty, source, reason, recorded_at_ms)
      SELECT i + 1, 1, CAST(${FIRST_ID} + i / ${WAREHOUSES} AS TEXT), CAST(701 + i % ${WAREHOUSES} AS TEXT),
        'SKU-' || (i / ${WAREHOUSES}), ${QTY}, 'read', 'first_read', ${atMs} FROM n`);
    db.exec(`UPDATE mirror_state SET change_seq = ${cells}, trusted_after_ms = ${atMs - 1}`);
    db.exec(`UPDATE service_state SET last_full_sync_at_ms = ${atMs}, alive_at_ms = ${atMs}`);
    for (const { sql } of indexes) db.exec(sql);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}
