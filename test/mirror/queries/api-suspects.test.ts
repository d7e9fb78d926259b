import { expect, test } from 'vitest';
import type { Db } from '../../../src/sqlite/open.ts';
import {
  stockRows,
  variantRows,
  type StockFilter,
  type StockKey,
} from '../../../src/mirror/queries/stock.ts';
import { present } from '../../shared/present.ts';
import { LATER, suspectMirror } from '../suspect-mirror.ts';
import { T0, values } from '../mirror-file.ts';
import { missedAt } from '../../core/builders.ts';

const FIRST = { variantId: '', warehouseId: '' };
const LIMITS = [1, 2, 3, 5, 40];

function allStock(db: Db, limit: number, filter: StockFilter & { warehouseId?: string } = {}): string[] {
  const keys: string[] = [];
  for (let after: StockKey = FIRST; ;) {
    const { rows, last, hasMore } = stockRows(db, { ...filter, suspect: 1, after, limit });
    expect(rows.length).toBeLessThanOrEqual(limit);
    expect(rows.every(({ suspect }) => suspect === 1)).toBe(true);
    keys.push(...rows.map((row) => `${row.variant_id}/${row.warehouse_id}`));
    if (!hasMore) return keys;
    expect(last).not.toEqual(after);
    after = present(last);
  }
}

function allVariants(db: Db, limit: number): string[] {
  const ids: string[] = [];
  for (let after = ''; ;) {
    const { rows, last, hasMore } = variantRows(db, { suspect: 1, after, limit });
    expect(rows.length).toBeLessThanOrEqual(limit);
    ids.push(...rows.map((row) => row.variant_id));
    if (!hasMore) return ids;
    after = present(last);
  }
}

const stockOf = (db: Db, and = ''): string[] =>
  values(
    db,
    `SELECT variant_id || '/' || warehouse_id FROM mirror_stock WHERE suspect = 1 ${and}
     ORDER BY variant_id, warehouse_id`,
  );
const variantsOf = (db: Db): string[] =>
  values(db, 'SELECT variant_id FROM mirror_variants WHERE suspect = 1 ORDER BY variant_id');

function expectAll(db: Db): void {
  expect(stockOf(db).length).toBeGreaterThan(12);
  expect(variantsOf(db).length).toBeGreaterThan(6);
  for (const limit of LIMITS) {
    expect(allStock(db, limit)).toEqual(stockOf(db));
    expect(allVariants(db, limit)).toEqual(variantsOf(db));
  }
}

test('lists every kind of suspect row in pages', () => {
  const { db } = suspectMirror();
  expectAll(db);
  expect(allStock(db, 2, { warehouseId: '2' })).toEqual(stockOf(db, `AND warehouse_id = '2'`));
  expect(allStock(db, 2, { productId: '6' })).toEqual(stockOf(db, `AND product_id = '6'`));
  expect(allStock(db, 2, { variantId: '500' })).toEqual(['500/1', '500/2']);
});

test('lists all rows after a downtime', () => {
  const writer = suspectMirror();
  writer.append(missedAt(T0 + 90_000));
  expectAll(writer.db);
});

test('lists more than 2,000 suspect products', () => {
  const writer = suspectMirror();
  const productIds = Array.from({ length: 2_001 }, (_, i) => String(1_000_000 + i));
  writer.requestReads('conflict', productIds, LATER);
  expectAll(writer.db);
});
