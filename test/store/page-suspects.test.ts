/** The ops page's list of what is suspect: all of it, once each, page by page, whatever the ground. */
import { expect, test } from 'vitest';
import type { Db } from '../../src/store/open.ts';
import type { StockCursor } from '../../src/store/queries/page-stock.ts';
import { findStock } from '../../src/store/queries/page-stock.ts';
import { delivery, detail, DirectWriter, item, T0, values } from './mirror-file.ts';

const LATER = T0 + 20_000;

function pagesOf(db: Db, limit: number, over: { text?: string; warehouseId?: string } = {}): string[][] {
  const pages: string[][] = [];
  let after: StockCursor | null = null;
  do {
    const page = findStock(db, { text: '', warehouseId: null, ...over, suspect: true, after, limit });
    expect(page.variants.every(({ suspect }) => suspect)).toBe(true);
    pages.push(page.variants.map(({ variantId }) => variantId));
    after = page.next;
  } while (after !== null && pages.length < 100);
  return pages;
}

/** Each ground for suspicion at least three times, some variants with several, and much that is not suspect. */
function mirror(): DirectWriter {
  const writer = new DirectWriter();
  const read = (product: number, levels: Record<string, number> | null, more = {}) => {
    const variants = [0, 1].map((n) => ({ id: `${product}0${n}`, levels, total: 9, more }));
    writer.read(String(product), detail(String(product), variants), T0);
  };
  for (let product = 1; product <= 9; product += 1) read(product, { 1: 5, 2: 5 });
  const pulled = { pulled_from_product_variant_id: '9' };
  for (const product of [20, 21, 22]) read(product, null, pulled);
  const change = (id: string, over = {}) =>
    writer.deliver(
      delivery(`${id} ${JSON.stringify(over)}`, item({ id, update_time: LATER, ...over })),
      LATER,
    );
  // In doubt as a whole, one of them with a gap besides.
  writer.append({ kind: 'oblige', atMs: LATER, reason: 'conflict', productIds: ['1', '2'], variantIds: [] });
  change('100', { old: 9, new: 8 });
  // Merely wanted: no ground at all.
  writer.append({ kind: 'oblige', atMs: LATER, reason: 'stale', productIds: ['3', '4'], variantIds: [] });
  // Gaps, of one variant in two warehouses.
  for (const [id, warehouse_id] of [
    ['500', '1'],
    ['500', '2'],
    ['600', '1'],
    ['601', '1'],
  ] as const) {
    change(id, { old: 9, new: 8, warehouse_id });
  }
  // Two changes of one instant whose order no read will tell, in two warehouses of one of them.
  for (const [id, warehouse_id] of [
    ['2000', '1'],
    ['2100', '1'],
    ['2100', '2'],
    ['2200', '1'],
  ] as const) {
    const [one, other] = [
      { old: 5, new: 6 },
      { old: 6, new: 5 },
    ];
    change(id, { ...one, warehouse_id });
    change(id, { ...other, warehouse_id });
  }
  for (const product of [20, 21, 22]) {
    writer.read(
      String(product),
      detail(
        String(product),
        [0, 1].map((n) => ({ id: `${product}0${n}`, levels: null, total: 9, more: pulled })),
      ),
      T0 + 60_000,
    );
  }
  // Unknown to every read.
  for (const id of ['9001', '9002', '9003']) change(id);
  return writer;
}

const suspects = (db: Db): string[] =>
  values<string>(db, 'SELECT DISTINCT variant_id FROM mirror_stock WHERE suspect = 1 ORDER BY variant_id');

test.each([1, 2, 3, 5, 40])('%i a page', (limit) => {
  const { db } = mirror();
  const truth = suspects(db);
  expect(truth.length).toBeGreaterThan(12);
  const pages = pagesOf(db, limit);
  expect(pages.flat().toSorted()).toEqual(truth);
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(limit);
});

test('products that were not read since nobody listened, many of one instant among them', () => {
  const writer = mirror();
  writer.append({ kind: 'downtime', atMs: T0 + 90_000, downSinceMs: null });
  expect(new Set(values(writer.db, 'SELECT read_at_ms FROM products')).size).toBe(2);
  for (const limit of [2, 3, 40]) {
    expect(pagesOf(writer.db, limit).flat().toSorted()).toEqual(
      values<string>(
        writer.db,
        `SELECT variant_id FROM mirror_stock WHERE suspect = 1 UNION SELECT variant_id FROM mirror_variants
           WHERE suspect = 1 ORDER BY 1`,
      ),
    );
  }
});

test('only what fits the search and the warehouse', () => {
  const { db } = mirror();
  expect(pagesOf(db, 2, { text: 's-60' }).flat()).toEqual(['600', '601']);
  expect(pagesOf(db, 2, { text: '1' }).flat()).toContain('101');
  expect(pagesOf(db, 2, { text: 'product 6' }).flat()).toEqual(['600', '601']);
  expect(pagesOf(db, 2, { warehouseId: '2' }).flat().toSorted()).toEqual(
    values(
      db,
      `SELECT DISTINCT s.variant_id FROM mirror_stock s WHERE s.suspect = 1 AND EXISTS (
         SELECT 1 FROM cells c WHERE c.variant_id = s.variant_id AND c.warehouse_id = '2') ORDER BY 1`,
    ),
  );
});

test('a name is found as it is written, whatever its letters; of ASCII ones the case does not count', () => {
  const writer = new DirectWriter();
  const more = { name: 'ÉCLAIR Ω ชา' };
  writer.read('1', detail('1', [{ id: '100', levels: { 1: 5 }, more }]), T0);
  writer.append({ kind: 'oblige', atMs: LATER, reason: 'conflict', productIds: ['1'], variantIds: [] });
  for (const suspect of [true, false]) {
    for (const text of ['ÉCLAIR', 'clair ω'.toUpperCase(), 'ชา', 'Éclair', 'PRODUCT 1']) {
      const page = findStock(writer.db, { text, warehouseId: null, suspect, after: null, limit: 5 });
      expect([text, suspect, page.variants.map(({ variantId }) => variantId)]).toEqual([
        text,
        suspect,
        ['100'],
      ]);
    }
  }
});
