/** What the bench fills a database with is what a first read of the catalogue leaves: else it measures something else. */
import { expect, test } from 'vitest';
import { detailOf, fillDatabase, FilledLevels, requestIdOf } from '../../../scripts/bench/fill.ts';
import { productDetailSchema } from '../../../src/store-api/contract/schemas.ts';
import { snapshotOf } from '../../../src/store-api/snapshot.ts';
import { DirectWriter, newPath, readerDb, rows, T0, values } from '../../mirror/mirror-file.ts';

const PRODUCTS = 3;

function firstRead(): DirectWriter {
  const mirror = new DirectWriter();
  mirror.append({ kind: 'listed', atMs: T0, productIds: [], lookup: false });
  for (let product = 0; product < PRODUCTS; product += 1) {
    const detail = detailOf(product, T0);
    mirror.append({
      kind: 'read',
      atMs: T0,
      productId: detail.id,
      s0: mirror.writer.lastSeq,
      sentAtMs: T0,
      receivedAtMs: T0,
      serverDateMs: T0,
      requestId: requestIdOf(product),
      snapshot: snapshotOf(productDetailSchema.parse(detail), JSON.stringify(detail)),
    });
  }
  return mirror;
}

test.each([
  'products',
  'variants',
  'stock_levels',
  'changes',
  'mirror_state',
  'live_counts',
  'product_stock_levels',
  'read_requests',
])('the rows of %s', (table) => {
  const path = newPath();
  fillDatabase(path, PRODUCTS * 9, T0);
  expect(rows(readerDb(path), `SELECT * FROM ${table}`)).toEqual(
    rows(firstRead().db, `SELECT * FROM ${table}`),
  );
});

test('the log, but for its payloads', () => {
  const path = newPath();
  fillDatabase(path, PRODUCTS * 9, T0);
  const entries = 'SELECT seq, kind, at_ms, body_hash FROM log';
  expect(rows(readerDb(path), entries)).toEqual(rows(firstRead().db, entries));
});

test('indexes and triggers are those of the schema', () => {
  const path = newPath();
  fillDatabase(path, 9, T0);
  const objects = 'SELECT type, name, sql FROM sqlite_master ORDER BY name';
  expect(rows(readerDb(path), objects)).toEqual(rows(firstRead().db, objects));
  expect(values(readerDb(path), 'PRAGMA integrity_check')).toEqual(['ok']);
});

test('stock levels are named by their index, and keep what deliveries set', () => {
  const path = newPath();
  const levels = new FilledLevels(20);
  fillDatabase(path, 20, T0);
  expect(values(readerDb(path), 'SELECT count(*) FROM stock_levels')).toEqual([levels.count]);
  const named = Array.from({ length: levels.count }, (_, i) => levels.name(i));
  const found = `SELECT variant_id AS variantId, sku, warehouse_id AS warehouseId FROM mirror_stock
    ORDER BY variant_id, warehouse_id`;
  expect(rows(readerDb(path), found)).toEqual(named);
  levels.set(7, 3);
  expect([levels.qty(6), levels.qty(7)]).toEqual([50, 3]);
});
