import { expect, test } from 'vitest';
import type { Db } from '../../../src/sqlite/open.ts';
import { findStock } from '../../../src/mirror/queries/page/stock.ts';
import { T0, values, type DirectWriter } from '../mirror-file.ts';
import { suspectMirror } from '../suspect-mirror.ts';
import { missedAt } from '../../core/builders.ts';

function pagesOf(db: Db, limit: number, over: { text?: string; warehouseId?: string } = {}): string[][] {
  const pages: string[][] = [];
  let after: string | null = null;
  do {
    const page = findStock(db, {
      text: '',
      warehouseId: null,
      ...over,
      suspect: true,
      empty: false,
      after,
      limit,
    });
    expect(page.variants.every(({ suspect }) => suspect)).toBe(true);
    pages.push(page.variants.map(({ variantId }) => variantId));
    after = page.next;
  } while (after !== null && pages.length < 100);
  return pages;
}

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
  const pages = pagesOf(writer.db, limit);
  expect(pages.flat().toSorted()).toEqual(truth);
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(limit);
});

test('lists products not read since a downtime', () => {
  const writer = suspectMirror();
  writer.append(missedAt(T0 + 90_000));
  expect(new Set(values(writer.db, 'SELECT read_at_ms FROM products')).size).toBe(2);
  for (const limit of [2, 3, 40]) {
    expect(pagesOf(writer.db, limit).flat().toSorted()).toEqual(suspects(writer));
  }
});

test('filters by text and warehouse', () => {
  const writer = suspectMirror();
  const { db } = writer;
  expect(pagesOf(db, 2, { text: 's-60' }).flat()).toEqual(['600', '601']);
  expect(pagesOf(db, 2, { text: '1' }).flat()).toContain('101');
  expect(pagesOf(db, 2, { text: 'product 6' }).flat()).toEqual(['600', '601']);
  const inWarehouse2 = values<string>(
    db,
    `SELECT DISTINCT variant_id FROM stock_levels WHERE warehouse_id = '2'`,
  );
  expect(pagesOf(db, 2, { warehouseId: '2' }).flat().toSorted()).toEqual(
    suspects(writer).filter((id) => inWarehouse2.includes(id)),
  );
});

test('lists no pulled variant of which only a warehouse is suspect', () => {
  const writer = suspectMirror();
  const unsold = values<string>(
    writer.db,
    `SELECT variant_id FROM mirror_stock WHERE suspect = 1 AND sellable = 0`,
  );
  expect(unsold).toContain('2100');
  expect(suspects(writer)).not.toContain('2100');
  expect(pagesOf(writer.db, 40).flat()).not.toContain('2100');
});
