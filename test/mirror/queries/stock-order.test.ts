import { expect, test } from 'vitest';
import { findStock, type StockPage, type StockSearch } from '../../../src/mirror/queries/page/stock.ts';
import type { StockOrder } from '../../../src/mirror/queries/page/stock-order.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { delivery, detail, DirectWriter, item, T0, values, writerDb } from '../mirror-file.ts';

const SEARCH = { text: '', warehouseId: null, suspect: false, empty: false, after: null, before: null };
const ORDERS: StockOrder[] = (['id', 'sku', 'changed'] as const).flatMap((by) =>
  [false, true].map((isFalling) => ({ by, isFalling })),
);

const SORTED = {
  id: 'variant_id',
  sku: 'sku IS NULL, sku, variant_id',
  changed: `max(
    change_seq,
    (SELECT coalesce(max(change_seq), 0) FROM stock_levels
     WHERE stock_levels.variant_id = variants.variant_id AND stock_levels.gone_at_ms IS NULL)
  )`,
};

function idsIn(db: Db, { by, isFalling }: StockOrder, condition = 'TRUE'): string[] {
  const ids = values<string>(
    db,
    `SELECT variant_id FROM variants WHERE gone_at_ms IS NULL AND ${condition} ORDER BY ${SORTED[by]}`,
  );
  return isFalling ? ids.toReversed() : ids;
}

const idsOf = ({ variants }: StockPage): string[] => variants.map(({ variantId }) => variantId);

/** @returns the ids of all pages to the last one, and of those on the way back. */
function walk(db: Db, search: Omit<StockSearch, 'after' | 'before'>) {
  const forth: string[][] = [];
  const back: string[][] = [];
  let page = findStock(db, { ...search, after: null, before: null });
  expect(page.previous).toBeNull();
  forth.push(idsOf(page));
  while (page.next !== null) {
    page = findStock(db, { ...search, after: page.next, before: null });
    forth.push(idsOf(page));
  }
  while (page.previous !== null) {
    page = findStock(db, { ...search, after: null, before: page.previous });
    back.unshift(idsOf(page));
  }
  return { forth, back };
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

test.each(ORDERS.flatMap((order) => [1, 3, 40].map((limit) => ({ ...order, limit }))))(
  'sorts by $by, falling: $isFalling, $limit per page, and the pages lead back',
  ({ limit, ...order }) => {
    const { db } = shop();
    const expected = idsIn(db, order);
    expect(expected).toHaveLength(27);
    const { forth, back } = walk(db, { ...SEARCH, order, limit });
    expect(forth.flat()).toEqual(expected);
    expect([...back, ...forth.slice(-1)].flat()).toEqual(expected);
    expect(Math.max(...forth.map((page) => page.length))).toBe(Math.min(limit, 27));
  },
);

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
] as const)('sorts what %o finds', (filter, condition) => {
  const { db } = shop();
  for (const order of ORDERS) {
    const expected = idsIn(db, order, condition);
    expect(expected.length).toBeGreaterThan(2);
    const { forth, back } = walk(db, { ...SEARCH, ...filter, order, limit: 3 });
    expect([order, forth.flat()]).toEqual([order, expected]);
    expect([order, [...back, ...forth.slice(-1)].flat()]).toEqual([order, expected]);
  }
});

test('a page stays after its key when rows before and after it change', () => {
  const { db } = shop();
  const order = { by: 'changed', isFalling: true } as const;
  const first = findStock(db, { ...SEARCH, order, limit: 5 });
  const rest = idsIn(db, order).slice(5);
  const [moved, ...kept] = rest;
  db.prepare('UPDATE variants SET change_seq = 100000 WHERE variant_id IN (?, ?)').run(
    moved,
    first.variants[4]?.variantId,
  );
  expect(idsOf(findStock(db, { ...SEARCH, order, after: first.next, limit: 40 }))).toEqual(kept);
  const sorted = { by: 'sku', isFalling: false } as const;
  const { next } = findStock(db, { ...SEARCH, order: sorted, limit: 5 });
  const later = idsIn(db, sorted).slice(5);
  db.prepare(`UPDATE variants SET sku = '!' WHERE variant_id = ?`).run(later[0]);
  expect(idsOf(findStock(db, { ...SEARCH, order: sorted, after: next, limit: 40 }))).toEqual(later.slice(1));
});

test.each(['', 'x', '1:', '100:-4', '100:1e9'])('shows the first page of changes after “%s”', (text) => {
  const { db } = shop();
  const search = { ...SEARCH, order: { by: 'changed', isFalling: true }, limit: 4 } as const;
  const first = idsOf(findStock(db, search));
  expect(idsOf(findStock(db, { ...search, after: text }))).toEqual(first);
  expect(idsOf(findStock(db, { ...search, before: text }))).toEqual(first);
});

test.each(ORDERS)('passes 12,000 variants by $by, falling: $isFalling, in bounded parts', (order) => {
  const db = writerDb();
  db.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 11999)
    INSERT INTO variants (
      variant_id, product_id, sku, name, kind, available_qty, allow_negative_stock, bundled_by_count, as_of_ms,
      event_at_ms, change_seq
    )
    SELECT
      CAST(100000 + n AS TEXT), '1', CASE WHEN n % 3 > 0 THEN 'S' || n % 7 END, 'V', 'own', n % 1000, 0, 0, 0, 0,
      (n * 7919) % 12007
    FROM numbers`);
  const search = { ...SEARCH, empty: true, order, limit: 4 };
  const { forth, back } = walk(db, search);
  const expected = idsIn(db, order, 'available_qty <= 0');
  expect(expected).toHaveLength(12);
  expect(forth.flat()).toEqual(expected);
  expect(back.flat()).toEqual(expected.slice(0, expected.length - (forth.at(-1)?.length ?? 0)));
  expect(findStock(db, { ...search, text: 'nothing' })).toMatchObject({ variants: [], isPartial: true });
});

test.each(ORDERS)('reads the index in the order by $by, falling: $isFalling', (order) => {
  const db = shop().db;
  const plans: string[] = [];
  const spy = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name, target) as unknown;
      return (sql: string) => {
        const values = sql.replaceAll(/@\w+/g, '1');
        const steps = target.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${values}`).all();
        const plan = steps.map(({ detail }) => detail);
        if (!sql.includes('mirror_')) plans.push(...plan);
        return target.prepare(sql);
      };
    },
  });
  for (const isBack of [false, true]) {
    const place = order.by === 'changed' ? '207:9' : '207:b';
    findStock(spy, { ...SEARCH, order, [isBack ? 'before' : 'after']: place, limit: 40 });
  }
  const index = { id: 'PRIMARY KEY', sku: 'variants_sku', changed: 'stock_levels_change_seq' }[order.by];
  expect(plans).toContainEqual(expect.stringMatching(new RegExp(`^SEARCH .*${index} \\(.*[<>]`)));
  expect(plans.filter((step) => /TEMP B-TREE|^SCAN (?!listed)/.test(step))).toEqual([]);
});
