/** A mirror’s file of any size, written by SQL: reading it from a store would take an hour for ten million levels. */
import { openWriter } from '../../src/mirror/file/open-writer.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { LEVELS_PER_PRODUCT } from './catalogue.ts';

const VARIANTS_PER_PRODUCT = 2;
const LEVELS_PER_VARIANT = LEVELS_PER_PRODUCT / VARIANTS_PER_PRODUCT;
/** A transaction that keeps the write-ahead log small. */
const PRODUCTS_AT_ONCE = 20_000;
const FIRST_PRODUCT = 200_000_000_000;
const FIRST_VARIANT = 300_000_000_000;

/** Its rows are live, read and trusted once a heartbeat is written. @returns the only connection that may write. */
export function createLargeMirror(path: string, levels: number): Db {
  const products = Math.ceil(levels / LEVELS_PER_PRODUCT);
  const db = openWriter(path);
  db.pragma('synchronous = OFF');
  const fill = db.transaction((from: number, count: number, atMs: number) => {
    for (const sql of [PRODUCTS, VARIANTS, LEVELS]) db.prepare(sql).run({ from, count, atMs });
  });
  for (let from = 0; from < products; from += PRODUCTS_AT_ONCE) {
    fill(from, Math.min(PRODUCTS_AT_ONCE, products - from), Date.now());
  }
  db.prepare('UPDATE mirror_state SET change_seq = ?').run(products * LEVELS_PER_PRODUCT);
  db.exec('UPDATE service_state SET last_full_sync_at_ms = 1');
  db.pragma('wal_checkpoint(TRUNCATE)');
  return db;
}

/** The mirror's state, as the main thread would write it. */
export function beat(db: Db): void {
  db.prepare(`UPDATE service_state SET state = 'live', state_cause = NULL, alive_at_ms = ?`).run(Date.now());
}

export const productId = (product: number): string => String(FIRST_PRODUCT + product);
export const variantId = (variant: number): string => String(FIRST_VARIANT + variant);
export const skuOf = (variant: number): string => `SKU-${variant}`;
export const variantsOf = (levels: number): number => Math.floor(levels / LEVELS_PER_VARIANT);

const numbers = (perProduct: number): string => `
  WITH RECURSIVE numbers (n) AS (
    SELECT CAST(@from AS INTEGER) * ${perProduct}
    UNION ALL
    SELECT n + 1 FROM numbers WHERE n + 1 < (@from + @count) * ${perProduct}
  )`;

const PRODUCTS = `
  INSERT INTO products (product_id, name, read_at_ms, read_until_ms, evidence_at_ms, has_bundle)
  ${numbers(1)}
  SELECT CAST(${FIRST_PRODUCT} + n AS TEXT), 'สินค้า ' || n, @atMs, @atMs, @atMs, 0 FROM numbers`;

const VARIANTS = `
  INSERT INTO variants (
    variant_id, product_id, sku, name, kind, available_qty, allow_negative_stock, bundled_by_count,
    as_of_ms, verified_at_ms, event_at_ms, change_seq
  )
  ${numbers(VARIANTS_PER_PRODUCT)}
  SELECT
    CAST(${FIRST_VARIANT} + n AS TEXT), CAST(${FIRST_PRODUCT} + n / ${VARIANTS_PER_PRODUCT} AS TEXT), 'SKU-' || n,
    'แบบที่ ' || (1 + n % ${VARIANTS_PER_PRODUCT}), 'own', ${50 * LEVELS_PER_VARIANT}, 0, 0,
    @atMs, @atMs, @atMs, (n + 1) * ${LEVELS_PER_VARIANT}
  FROM numbers`;

const LEVELS = `
  INSERT INTO stock_levels (
    variant_id, warehouse_id, qty, source, as_of_ms, event_time_ms, event_old, event_count, event_at_ms,
    read_lo_ms, read_hi_ms, read_at_ms, verified_at_ms, on_hand, reserved_qty, on_hand_as_of_ms, change_seq
  )
  ${numbers(LEVELS_PER_PRODUCT)}
  SELECT
    CAST(${FIRST_VARIANT} + n / ${LEVELS_PER_VARIANT} AS TEXT), CAST(701 + n % ${LEVELS_PER_VARIANT} AS TEXT),
    50, 'read', @atMs, 0, 50, 0, @atMs, @atMs, @atMs, @atMs, @atMs, 50, 0, @atMs, n + 1
  FROM numbers`;
