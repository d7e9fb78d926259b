/** What the API asks: by indexes alone, and never a hole in what is kept of the feed. */
import { expect, test } from 'vitest';
import type { Db } from '../../../src/sqlite/open.ts';
import { DRIFT_CAUSES } from '../../../src/core/causes.ts';
import * as parsing from '../../../src/mirror/reader/parsing-queries.ts';
import { queries as light } from '../../../src/mirror/reader/queries.ts';
import { present } from '../../shared/present.ts';
import { delivery, DirectWriter, item, T0, values, writerDb } from '../mirror-file.ts';

const queries = { ...light, ...parsing };

/** The plan's steps of every statement that `use` prepares. */
function plans(db: Db, use: (db: Db) => unknown): { sql: string; steps: string[] }[] {
  const prepared: string[] = [];
  const spy = new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'prepare') {
        return (sql: string) => {
          prepared.push(sql);
          return target.prepare(sql);
        };
      }
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  use(spy);
  return prepared.map((sql) => ({
    sql,
    steps: db
      .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql.replaceAll(/@\w+|\?/g, '1')}`)
      .all()
      .map(({ detail }) => detail),
  }));
}

const first = { variantId: '', warehouseId: '' };

test.each<[string, (db: Db) => unknown]>([
  ['stock', (db) => queries.stockRows(db, { after: first, limit: 2 })],
  ['stock of a variant', (db) => queries.stockRows(db, { after: first, limit: 2, variantId: '1' })],
  ['stock of a sku', (db) => queries.stockRows(db, { after: first, limit: 2, sku: 'S' })],
  ['stock of a product', (db) => queries.stockRows(db, { after: first, limit: 2, productId: '1' })],
  ['stock of a warehouse', (db) => queries.stockRows(db, { after: first, limit: 2, warehouseId: '1' })],
  ['suspect stock', (db) => queries.stockRows(db, { after: first, limit: 2, suspect: 1 })],
  ['variants', (db) => queries.variantRows(db, { after: '', limit: 2 })],
  ['variants of a sku', (db) => queries.variantRows(db, { after: '', limit: 2, sku: 'S' })],
  ['variants of a product', (db) => queries.variantRows(db, { after: '', limit: 2, productId: '1' })],
  ['changes', (db) => queries.changesAfter(db, { after: 0, limit: 2 })],
  ['drift', (db) => queries.driftBefore(db, { before: 9, reasons: DRIFT_CAUSES, limit: 2 })],
  ['deliveries', (db) => queries.deliveryPage(db, { beforeSeq: 9, limit: 2, deadLettersOnly: false })],
  ['dead letters', (db) => queries.deliveryPage(db, { beforeSeq: 9, limit: 2, deadLettersOnly: true })],
  ['runs', (db) => queries.latestRuns(db, { before: 9, limit: 2 })],
])('%s', (name, use) => {
  const found = plans(writerDb(), use);
  expect(found.length).toBeGreaterThan(0);
  for (const { sql, steps } of found) {
    // Tables of one row each, and a page that was found by an index.
    expect(
      steps.filter((step) => /^SCAN (?!mirror_state|CONSTANT ROW|[sml]$)/.test(step)),
      sql,
    ).toEqual([]);
    // Sorted are the warehouses of one sku or one product, never a list that grows with the mirror.
    const mayOrder = name === 'stock of a sku' || name === 'stock of a product';
    if (!mayOrder)
      expect(
        steps.filter((step) => step.includes('TEMP B-TREE')),
        sql,
      ).toEqual([]);
  }
});

test('a consumer below a pruned change can tell, even when a later change arrived earlier', () => {
  const writer = new DirectWriter();
  const at = [T0, T0 + 50, T0 + 20, T0 + 60, T0 + 70];
  for (const [n, atMs] of at.entries()) {
    const change = item({ old: 100 - n, new: 99 - n, update_time: T0 - 10_000 + n });
    writer.deliver(delivery(`r${n}`, change), atMs);
  }
  const kept = (): number[] => values(writer.db, 'SELECT inbox_seq FROM changes ORDER BY seq');
  const keptAfter = () => queries.changesAfter(writer.db, { after: 0, limit: 1 }).keptAfterSeq;
  expect(keptAfter()).toBe(0);
  writer.prune(T0 + 30);
  expect(kept()).toEqual([2, 4, 5]);
  const [second, fourth] = values<number>(writer.db, 'SELECT seq FROM changes ORDER BY seq');
  expect(keptAfter()).toBeGreaterThan(present(second));
  expect(keptAfter()).toBeLessThan(present(fourth));
  writer.prune(T0 + 1_000_000);
  expect(kept()).toEqual([]);
  expect(keptAfter()).toBe(values<number>(writer.db, 'SELECT last_seq FROM mirror_status')[0]);
});
