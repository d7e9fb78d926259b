import { expect, test } from 'vitest';
import { findStock, type StockPage, type StockSearch } from '../../../src/mirror/queries/page/stock.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { delivery, detail, DirectWriter, item, T0, values, writerDb } from '../mirror-file.ts';
import { missedAt } from '../../core/builders.ts';
import { suspectMirror } from '../suspect-mirror.ts';

const SEARCH = { text: '', warehouseId: null, suspect: false, empty: false };

function idsIn(db: Db, condition = 'TRUE'): string[] {
  return values<string>(
    db,
    `SELECT variant_id FROM variants WHERE gone_at_ms IS NULL AND ${condition}
     ORDER BY sku IS NULL, sku, variant_id`,
  );
}

const idsOf = ({ variants }: StockPage): string[] => variants.map(({ variantId }) => variantId);

/** @returns the ids of all pages. */
function walk(db: Db, search: Omit<StockSearch, 'after'>): string[][] {
  const pages: string[][] = [];
  let after: string | null = null;
  do {
    const page = findStock(db, { ...search, after });
    if (search.suspect) expect(page.variants.every(({ suspect }) => suspect)).toBe(true);
    pages.push(idsOf(page));
    after = page.next;
  } while (after !== null);
  return pages;
}

/** SKUs that are equal or absent, removed rows, unknown variants, and changes of levels and of names. */
function shop(): DirectWriter {
  const writer = new DirectWriter();
  const skus = ['B', 'A', null, 'B', null, 'Ä', '', 'b', 'A'];
  const read = (product: number, atMs: number, name: string) => {
    const variants = skus.map((sku, at) => ({
      id: `${product}0${at}`,
      levels: at === 5 ? {} : { 1: 5, 2: at % 3 },
      more: { sku },
    }));
    writer.read(`${product}`, detail(`${product}`, variants, { name }), atMs);
  };
  for (const product of [3, 1, 2]) read(product, T0, `Product ${product}`);
  const change = (id: string, warehouse_id: string, old: number) =>
    writer.deliver(
      delivery(`${id} ${old}`, item({ id, warehouse_id, old, new: old + 1, update_time: T0 + 20_000 })),
      T0 + 20_000,
    );
  for (const id of ['207', '100', '302', '207', '999', '998']) change(id, '1', 5);
  change('100', '2', 0);
  for (const id of ['203', '300', '102']) change(id, '1', 90);
  change('207', '2', 1);
  read(1, T0 + 40_000, 'Another name');
  writer.db.prepare(`UPDATE variants SET gone_at_ms = 1 WHERE variant_id IN ('101', '304')`).run();
  writer.db
    .prepare(`UPDATE stock_levels SET gone_at_ms = 1 WHERE variant_id = '207' AND warehouse_id = '2'`)
    .run();
  return writer;
}

test.each([1, 3, 40])('sorts by SKU, those without one last, %i per page', (limit) => {
  const { db } = shop();
  const expected = idsIn(db);
  expect(expected).toHaveLength(27);
  const pages = walk(db, { ...SEARCH, limit });
  expect(pages.flat()).toEqual(expected);
  expect(Math.max(...pages.map((page) => page.length))).toBe(Math.min(limit, 27));
});

test.each([
  [{ text: 'b' }, `sku = 'b'`],
  [{ text: 'Product' }, `product_id IN ('2', '3')`],
  [
    { warehouseId: '2' },
    `variant_id IN (SELECT variant_id FROM stock_levels WHERE warehouse_id = '2' AND gone_at_ms IS NULL)`,
  ],
  [
    { empty: true },
    `(available_qty <= 0 OR variant_id IN (SELECT variant_id FROM stock_levels WHERE qty <= 0 AND gone_at_ms IS NULL))`,
  ],
  [
    { suspect: true },
    `(variant_id IN (SELECT variant_id FROM mirror_stock WHERE suspect = 1)
     OR variant_id IN (SELECT variant_id FROM mirror_variants WHERE suspect = 1))`,
  ],
] as const)('sorts what %o finds by SKU', (filter, condition) => {
  const { db } = shop();
  const expected = idsIn(db, condition);
  expect(expected.length).toBeGreaterThan(2);
  expect(walk(db, { ...SEARCH, ...filter, limit: 3 }).flat()).toEqual(expected);
});

test('a page stays after its variant when rows after it change', () => {
  const { db } = shop();
  const { next } = findStock(db, { ...SEARCH, after: null, limit: 5 });
  const [moved, ...kept] = idsIn(db).slice(5);
  db.prepare(`UPDATE variants SET sku = '!' WHERE variant_id = ?`).run(moved);
  expect(idsOf(findStock(db, { ...SEARCH, after: next, limit: 40 }))).toEqual(kept);
});

test('shows the first page after an unknown variant', () => {
  const { db } = shop();
  const first = findStock(db, { ...SEARCH, after: null, limit: 4 });
  expect(findStock(db, { ...SEARCH, after: 'x', limit: 4 })).toEqual(first);
});

test('passes 12,000 variants in bounded parts', () => {
  const db = writerDb();
  db.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 11999)
    INSERT INTO variants (
      variant_id, product_id, sku, name, kind, available_qty, allow_negative_stock, bundled_by_count, as_of_ms,
      event_at_ms, change_seq
    )
    SELECT
      CAST(100000 + n AS TEXT), '1', CASE WHEN n % 3 > 0 THEN 'S' || n % 7 END, 'V', 'own', n % 1000, 0, 0, 0, 0, 0
    FROM numbers`);
  const search = { ...SEARCH, empty: true, limit: 4 };
  const expected = idsIn(db, 'available_qty <= 0');
  expect(expected).toHaveLength(12);
  expect(walk(db, search).flat()).toEqual(expected);
  expect(findStock(db, { ...search, text: 'nothing', after: null })).toMatchObject({
    variants: [],
    isPartial: true,
  });
});

const suspects = (writer: DirectWriter): string[] => {
  writer.beat();
  return values<string>(
    writer.db,
    'SELECT DISTINCT variant_id FROM mirror_sellable WHERE trusted = 0 ORDER BY 1',
  );
};

test.each([1, 2, 3, 5, 40])('lists all suspect variants, %i per page', (limit) => {
  const writer = suspectMirror();
  const truth = suspects(writer);
  expect(truth.length).toBeGreaterThan(9);
  const pages = walk(writer.db, { ...SEARCH, suspect: true, limit });
  expect(pages.flat().toSorted()).toEqual(truth);
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(limit);
});

test('lists the suspect variants of products not read since a downtime', () => {
  const writer = suspectMirror();
  writer.append(missedAt(T0 + 90_000));
  expect(new Set(values(writer.db, 'SELECT read_at_ms FROM products')).size).toBe(2);
  for (const limit of [2, 3, 40]) {
    expect(
      walk(writer.db, { ...SEARCH, suspect: true, limit })
        .flat()
        .toSorted(),
    ).toEqual(suspects(writer));
  }
});

test('filters suspect variants by text and warehouse', () => {
  const writer = suspectMirror();
  const { db } = writer;
  const found = (filter: { text?: string; warehouseId?: string }): string[] =>
    walk(db, { ...SEARCH, ...filter, suspect: true, limit: 2 }).flat();
  expect(found({ text: 's-60' })).toEqual(['600', '601']);
  expect(found({ text: '1' })).toContain('101');
  expect(found({ text: 'product 6' })).toEqual(['600', '601']);
  const inWarehouse2 = values<string>(
    db,
    `SELECT DISTINCT variant_id FROM stock_levels WHERE warehouse_id = '2'`,
  );
  expect(found({ warehouseId: '2' }).toSorted()).toEqual(
    suspects(writer).filter((id) => inWarehouse2.includes(id)),
  );
});

test('lists no pulled variant as suspect of which only a warehouse is', () => {
  const writer = suspectMirror();
  const unsold = values<string>(
    writer.db,
    `SELECT variant_id FROM mirror_stock WHERE suspect = 1 AND sellable = 0`,
  );
  expect(unsold).toContain('2100');
  expect(suspects(writer)).not.toContain('2100');
  expect(walk(writer.db, { ...SEARCH, suspect: true, limit: 40 }).flat()).not.toContain('2100');
});
