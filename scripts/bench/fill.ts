/** Databases of any size, made by SQL alone: a first sync of ten million stock levels would take hours. */
import Database from 'better-sqlite3';
import { EARLIEST_MS } from '../../src/core/limits.ts';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import { openBoth } from '../shared/direct-writer.ts';
import type { StockLevels } from './deliveries.ts';

const WAREHOUSES = 3;
const VARIANTS_A_PRODUCT = 3;
const LEVELS_A_PRODUCT = WAREHOUSES * VARIANTS_A_PRODUCT;
const FIRST_ID = 100_000_000_000;
const FIRST_WAREHOUSE = 701;
const QTY = 50;
/**
 * Numbers of the feed that a variant's first read takes: its levels twice, as levels and with their names, and
 * itself.
 */
const SEQS_A_VARIANT = 2 * WAREHOUSES + 1;
/** The first entry of the log is the list that showed the products. */
const FIRST_READ_SEQ = 2;

/** What `fillDatabase` puts in, by index, and what deliveries have made of it since. */
export class FilledLevels implements StockLevels {
  readonly count: number;
  readonly #changed = new Map<number, number>();

  /** @param wanted rounded up to whole products. */
  constructor(wanted: number) {
    this.count = productsFor(wanted) * LEVELS_A_PRODUCT;
  }
  name(index: number) {
    const variant = Math.floor(index / WAREHOUSES);
    return {
      variantId: String(FIRST_ID + variant),
      sku: `SKU-${variant}`,
      warehouseId: String(FIRST_WAREHOUSE + (index % WAREHOUSES)),
    };
  }
  qty(index: number): number {
    return this.#changed.get(index) ?? QTY;
  }
  set(index: number, qty: number): void {
    this.#changed.set(index, qty);
  }
}

function productsFor(levels: number): number {
  return Math.ceil(levels / LEVELS_A_PRODUCT);
}

/** The detail of which the filled rows of a product come, as the store would have sent it. */
export function detailOf(product: number, updateTimeMs: number) {
  const variants = Array.from({ length: VARIANTS_A_PRODUCT }, (_, i) => product * VARIANTS_A_PRODUCT + i);
  return {
    id: String(FIRST_ID + product),
    name: `Product ${product}`,
    store_id: '1',
    update_time: updateTimeMs,
    variants: variants.map((variant) => ({
      product_variant_id: String(FIRST_ID + variant),
      name: `Variant ${variant}`,
      sku: `SKU-${variant}`,
      available_qty: QTY * WAREHOUSES,
      on_hand: QTY * WAREHOUSES,
      reserved_qty: 0,
      cost: '1.00',
      warehouses: Array.from({ length: WAREHOUSES }, (_, i) => ({
        wh_id: String(FIRST_WAREHOUSE + i),
        on_hand: QTY,
        available_qty: QTY,
        reserved_qty: 0,
      })),
    })),
  };
}

/** As long as those that the store gives. */
export function requestIdOf(product: number): string {
  return `00000000-0000-4000-8000-${FIRST_ID + product}`;
}

/**
 * As a first read of the whole catalogue leaves it: products with three variants in three warehouses each, a change
 * of the feed for every stock level, a log of the reads. All but the details themselves, which no delivery and no
 * list touches, and which would be most of the file.
 *
 * @param levels rounded up to whole products.
 * @param atMs when each product was read.
 */
export function fillDatabase(path: string, levels: number, atMs = Date.now() - 60_000): void {
  openBoth(path).close();
  const db = new Database(path);
  try {
    db.prepare('ATTACH ? AS event_log').run(eventLogPath(path));
    // What a crash would leave is not needed.
    for (const file of ['main', 'event_log']) {
      db.pragma(`${file}.journal_mode = OFF`);
      db.pragma(`${file}.synchronous = OFF`);
      db.pragma(`${file}.cache_size = -262144`);
    }
    db.pragma('locking_mode = EXCLUSIVE');
    // Row by row they would cost more than the rows: indexes are made afterwards, and what triggers count is written.
    const dropped = db
      .prepare<[], { type: string; name: string; sql: string }>(
        `SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL
         AND tbl_name IN ('stock_levels', 'variants', 'products', 'changes')`,
      )
      .all();
    db.exec('BEGIN');
    for (const { type, name } of dropped) db.exec(`DROP ${type} "${name}"`);
    insertRows(db, productsFor(levels), atMs);
    for (const { sql } of dropped) db.exec(sql);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

function insertRows(db: Database.Database, products: number, atMs: number): void {
  const variants = products * VARIANTS_A_PRODUCT;
  const levels = variants * WAREHOUSES;
  const count = (rows: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${rows})`;
  const id = (index: string) => `CAST(${FIRST_ID} + ${index} AS TEXT)`;
  const warehouse = `CAST(${FIRST_WAREHOUSE} + i % ${WAREHOUSES} AS TEXT)`;
  const firstSeqOfLevel = `i / ${WAREHOUSES} * ${SEQS_A_VARIANT} + i % ${WAREHOUSES} + 1`;
  // As the mirror's own writer.
  db.exec(`${count(products)}
    INSERT INTO products (product_id, name, update_time_ms, read_seq, read_at_ms, read_until_ms, has_bundle)
    SELECT ${id('i')}, 'Product ' || i, ${atMs}, i + ${FIRST_READ_SEQ - 1}, ${atMs}, ${atMs}, 0 FROM n`);
  db.exec(`${count(products)}
    INSERT INTO product_stock_levels (product_id, levels) SELECT ${id('i')}, ${LEVELS_A_PRODUCT} FROM n`);
  db.exec(`${count(variants)}
    INSERT INTO variants (variant_id, product_id, sku, name, kind, available_qty, on_hand, reserved_qty,
      allow_negative_stock, cost, bundled_by_count, as_of_ms, verified_at_ms, event_seq, event_at_ms, change_seq)
    SELECT ${id('i')}, ${id(`i / ${VARIANTS_A_PRODUCT}`)}, 'SKU-' || i, 'Variant ' || i, 'own',
      ${QTY * WAREHOUSES}, ${QTY * WAREHOUSES}, 0, 0, '1.00', 0, ${atMs}, ${atMs}, 0, ${EARLIEST_MS},
      (i + 1) * ${SEQS_A_VARIANT} FROM n`);
  // A read's window, in the store's clock, is as wide as what the `Date` header and a replica leave open.
  db.exec(`${count(levels)}
    INSERT INTO stock_levels (variant_id, warehouse_id, qty, source, as_of_ms, event_time_ms, event_old, event_count,
      event_seq, event_at_ms, read_lo_ms, read_hi_ms, verified_at_ms, on_hand, reserved_qty, on_hand_as_of_ms,
      change_seq)
    SELECT ${id(`i / ${WAREHOUSES}`)}, ${warehouse}, ${QTY}, 'read', ${atMs}, ${EARLIEST_MS}, 0, 0, 0,
      ${EARLIEST_MS}, ${atMs - 3_000}, ${atMs + 2_000}, ${atMs}, ${QTY}, 0, ${atMs},
      ${firstSeqOfLevel} + ${WAREHOUSES} FROM n`);
  db.exec(`${count(levels)}
    INSERT INTO changes (seq, log_seq, variant_id, warehouse_id, sku, new_qty, source, reason, recorded_at_ms,
      request_id)
    SELECT ${firstSeqOfLevel}, i / ${LEVELS_A_PRODUCT} + ${FIRST_READ_SEQ}, ${id(`i / ${WAREHOUSES}`)}, ${warehouse},
      'SKU-' || (i / ${WAREHOUSES}), ${QTY}, 'read', 'first_read', ${atMs},
      '${requestIdOf(0).slice(0, -String(FIRST_ID).length)}' || (${FIRST_ID} + i / ${LEVELS_A_PRODUCT}) FROM n`);
  db.exec(`INSERT INTO log (seq, kind, at_ms, payload)
    VALUES (${FIRST_READ_SEQ - 1}, 'listed', ${atMs}, CAST('{"productIds":[],"lookup":false}' AS BLOB))`);
  db.exec(`${count(products)}
    INSERT INTO log (seq, kind, at_ms, payload)
    SELECT i + ${FIRST_READ_SEQ}, 'read', ${atMs}, CAST(
      '{"productId":"' || (${FIRST_ID} + i) || '","s0":1,"sentAtMs":${atMs},"receivedAtMs":${atMs},"detail":"unchanged"}'
      AS BLOB) FROM n`);
  db.exec(`UPDATE live_counts SET products = ${products}, variants = ${variants}, levels = ${levels}`);
  db.exec(
    `UPDATE mirror_state SET applied_seq = ${products + FIRST_READ_SEQ - 1}, change_seq = ${variants * SEQS_A_VARIANT},
       store_id = '1', offset_ceiling_ms = 1000`,
  );
  db.exec(`UPDATE service_state SET last_full_sync_at_ms = ${atMs}`);
}
