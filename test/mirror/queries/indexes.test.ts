import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { prepareRemaining } from '../../../src/mirror/writer/run-progress.ts';
import * as queries from '../../../src/mirror/reader/queries.ts';
import { dueReads } from '../../../src/mirror/queries/queue.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { openWriter } from '../../../src/mirror/file/open-writer.ts';
import { SqliteTables } from '../../../src/mirror/writer/sqlite-tables.ts';
import { delivery, detail, DirectWriter, item, newPath, T0, writerDb } from '../mirror-file.ts';

const LARGE = [
  ...['stock_levels', 'variants', 'products', 'changes', 'inbox', 'dead_letters', 'deliveries'],
  ...['due_reads', 'gaps', 'product_details'],
];

function planOf(db: Db, sql: string): string[] {
  return db
    .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql.replaceAll(/@\w+|\?/g, '1')}`)
    .all()
    .map(({ detail }) => detail);
}

function scans(db: Db, sql: string, large = LARGE): string[] {
  const aliases = new Map(
    [...sql.matchAll(/\b(?:FROM|JOIN)\s+"?(\w+)"?(?:\s+(?:AS\s+)?(\w+))?/gi)].map((m) => [m[2], m[1]]),
  );
  return planOf(db, sql).filter((step) => {
    const scan = /^SCAN (\w+)(.*)$/.exec(step);
    if (scan === null) return false;
    const table = aliases.get(scan[1]) ?? scan[1];
    // A bounded tail of the feed.
    if (table === 'changes' && /ORDER BY seq DESC LIMIT (1 OFFSET )?5000/.test(sql)) return false;
    return large.includes(table ?? '') && !/USING (COVERING )?INDEX/.test(step);
  });
}

const first = { variantId: '', warehouseId: '' };
const LEFT = { readAfterMs: T0, productIds: null, nowMs: 0, after: null, countTo: 5 };
const SEARCH = {
  text: '',
  warehouseId: null,
  suspect: false,
  empty: false,
  after: null,
  limit: 5,
} as const;

function statements(db: Db, use: (db: Db) => unknown): string[] {
  const prepared: string[] = [];
  const spy = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      }
      return (sql: string) => {
        prepared.push(sql);
        return target.prepare(sql);
      };
    },
  });
  use(spy);
  return prepared;
}

test.each<[string, (db: Db) => unknown]>([
  ['dueReads', (db) => dueReads(db, { nowMs: T0, limit: 8, exclude: ['1'] })],
  [
    'nextReads',
    (db) =>
      queries.nextReads(db, {
        nowMs: T0,
        limit: 8,
        exclude: ['1'],
        turnBeforeMs: T0,
        scheduled: 4,
      }),
  ],
  ['verificationOutlook', (db) => queries.verificationOutlook(db, { nowMs: T0 })],
  ['areBundlesDue', (db) => queries.areBundlesDue(db, { nowMs: T0 })],
  ['searchFacts', (db) => queries.searchFacts(db, { nowMs: T0 + 10 })],
  ['remainingOf', (db) => prepareRemaining(db)(LEFT)],
  ['driftBefore', (db) => queries.driftBefore(db, { before: 9, reasons: ['gap', 'derived'], limit: 5 })],
  ['unreadSince', (db) => queries.unreadSince(db, { productIds: ['1'], sinceMs: T0 })],
  ['openReads, held', (db) => queries.openReads(db, { kind: 'held', after: '', limit: 2 })],
  ['heldRemovals', (db) => queries.heldRemovals(db)],
  ['openReads, failing', (db) => queries.openReads(db, { kind: 'failing', after: '', limit: 2 })],
  ['notedMinutes', (db) => queries.notedMinutes(db, { sinceMs: T0 })],
  ['findStock', (db) => queries.findStock(db, SEARCH)],
  ['findStock by text', (db) => queries.findStock(db, { ...SEARCH, text: 'S', warehouseId: '1' })],
  ['findStock, suspects', (db) => queries.findStock(db, { ...SEARCH, suspect: true })],
  ['trust', (db) => queries.trust(db)],
  ['warehouseIds', (db) => queries.warehouseIds(db)],
  ['warehouseNames', (db) => queries.warehouseNames(db)],
  ['variantView', (db) => queries.variantView(db, { variantId: '100', beforeSeq: null, limit: 5 })],
  ['lag', (db) => queries.lag(db)],
  ['deliveryPage', (db) => queries.deliveryPage(db, { beforeSeq: null, limit: 5, deadLettersOnly: false })],
  ['dead letters', (db) => queries.deliveryPage(db, { beforeSeq: 9, limit: 2, deadLettersOnly: true })],
  ['sellableRows', (db) => queries.sellableRows(db, { after: first, limit: 2 })],
  ['sellableRows of a variant', (db) => queries.sellableRows(db, { after: first, limit: 2, variantId: '1' })],
  ['sellableRows of a SKU', (db) => queries.sellableRows(db, { after: first, limit: 2, sku: 'S' })],
  ['untrusted sellableRows', (db) => queries.sellableRows(db, { after: first, limit: 2, trusted: 0 })],
  ['stockRows', (db) => queries.stockRows(db, { after: first, limit: 2 })],
  ['stockRows of a variant', (db) => queries.stockRows(db, { after: first, limit: 2, variantId: '1' })],
  ['stockRows of a SKU', (db) => queries.stockRows(db, { after: first, limit: 2, sku: 'S' })],
  ['stockRows of a product', (db) => queries.stockRows(db, { after: first, limit: 2, productId: '1' })],
  ['stockRows of a warehouse', (db) => queries.stockRows(db, { after: first, limit: 2, warehouseId: '1' })],
  ['suspect stockRows', (db) => queries.stockRows(db, { after: first, limit: 2, suspect: 1 })],
  ['variantRows', (db) => queries.variantRows(db, { after: '', limit: 2 })],
  ['variantRows of a SKU', (db) => queries.variantRows(db, { after: '', limit: 2, sku: 'S' })],
  ['variantRows of a product', (db) => queries.variantRows(db, { after: '', limit: 2, productId: '1' })],
  ['changesAfter', (db) => queries.changesAfter(db, { after: 0, limit: 2 })],
  [
    'deliveryAt',
    (db) => {
      const writer = new DirectWriter(db);
      for (const [old, qty] of [
        [5, 4],
        [9, 8],
        [3, 2],
      ] as const) {
        writer.deliver(delivery(`${old}`, item({ old, new: qty, update_time: T0 - old })), T0);
      }
      for (const seq of [1, 2, 3]) queries.deliveryAt(db, { seq });
    },
  ],
  ['latestRuns', (db) => queries.latestRuns(db, { limit: 5, before: 9 })],
  ['the writer', (db) => new SqliteTables(db)],
])('%s uses an index', (_name, use) => {
  const db = writerDb();
  db.prepare(`INSERT INTO products (product_id, read_at_ms, has_bundle) VALUES ('1', ${T0 - 1}, 0)`).run();
  db.prepare(
    `INSERT INTO variants (variant_id, product_id, name, kind, allow_negative_stock, bundled_by_count, as_of_ms,
       event_at_ms, change_seq) VALUES ('100', '1', 'V', 'own', 0, 0, ${T0}, ${T0}, 0)`,
  ).run();
  db.prepare('UPDATE mirror_state SET trusted_after_ms = ?').run(T0);
  // Held products are read only at an operator's request.
  const prepared = statements(db, use).filter(
    (sql) => /^\s*select/i.test(sql) && !sql.includes('WHERE not_before_ms = +?'),
  );
  expect(prepared.length).toBeGreaterThan(0);
  for (const sql of prepared) expect(scans(db, sql), sql).toEqual([]);
});

test.each([
  ['100', 'a SKU', '(sku,variant_id)>'],
  ['102', 'none', 'sku=? AND variant_id>'],
])('findStock continues in the index of SKUs after variant %s, which has %s', (after, _, begin) => {
  const writer = new DirectWriter();
  const variants = ['A', 'B', null, null].map((sku, n) => ({
    id: `10${n}`,
    levels: { 1: 5 },
    more: { sku },
  }));
  writer.read('10', detail('10', variants), T0);
  const plans = statements(writer.db, (db) => queries.findStock(db, { ...SEARCH, after }))
    .filter((sql) => !sql.includes('json_each'))
    .flatMap((sql) => planOf(writer.db, sql));
  const range = expect.stringContaining(`SEARCH variants USING INDEX variants_sku (${begin}`) as string;
  expect(plans).toContainEqual(range);
  expect(plans.filter((step) => /TEMP B-TREE|^SCAN (?!(?:mirror|service)_state)/.test(step))).toEqual([]);
});

test.each([
  'SELECT * FROM mirror_changes WHERE seq > 5 ORDER BY seq LIMIT 100',
  'SELECT * FROM mirror_changes WHERE recorded_at >= 5 ORDER BY recorded_at, seq',
  'SELECT * FROM mirror_changes WHERE recorded_at >= 5 AND recorded_at < 9 ORDER BY recorded_at, seq',
  'SELECT sku, sum(delta) FROM mirror_changes WHERE recorded_at BETWEEN 5 AND 9',
  `SELECT * FROM mirror_changes WHERE source = 'read' AND reason <> 'first_read' AND reason = 'gap' ORDER BY seq DESC`,
  'SELECT * FROM mirror_sellable WHERE change_seq > 5 ORDER BY change_seq LIMIT 100',
  `SELECT * FROM mirror_sellable WHERE variant_id = '1'`,
  `SELECT * FROM mirror_sellable WHERE variant_id = '1' AND warehouse_id = '2'`,
  `SELECT * FROM mirror_sellable WHERE sku = 'S'`,
  `SELECT * FROM mirror_sellable WHERE product_id = '1'`,
  'SELECT * FROM mirror_stock WHERE change_seq > 5 ORDER BY change_seq LIMIT 100',
  'SELECT * FROM mirror_variants WHERE change_seq > 5 ORDER BY change_seq LIMIT 100',
  `SELECT * FROM mirror_stock WHERE variant_id = '1'`,
  `SELECT * FROM mirror_stock WHERE variant_id = '1' AND warehouse_id = '2'`,
  `SELECT * FROM mirror_stock WHERE sku = 'S'`,
  `SELECT * FROM mirror_stock WHERE product_id = '1'`,
])('uses an index for %s', (sql) => {
  const plan = planOf(writerDb(), sql);
  const outer = plan.filter((step) => /^SCAN/.test(step) && !/SCAN (mirror|service)_state/.test(step));
  expect(outer).toEqual([]);
  expect(plan.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
});

test.each([
  [
    'by number',
    'SELECT * FROM mirror_sellable WHERE change_seq > 5 ORDER BY change_seq LIMIT 100',
    /^SEARCH stock_levels USING INDEX stock_levels_change_seq/,
    /^SEARCH variants USING INDEX variants_sold_as_total /,
  ],
  [
    'by id',
    `SELECT * FROM mirror_sellable WHERE variant_id >= '5' ORDER BY variant_id, warehouse_id LIMIT 100`,
    /^SEARCH stock_levels USING PRIMARY KEY/,
    /^SEARCH variants USING INDEX variants_sold_as_total_id /,
  ],
])('who reads mirror_sellable %s examines no variant that is sold by warehouse', (_, sql, levels, totals) => {
  const plan = planOf(writerDb(), sql);
  expect(plan).toContainEqual(expect.stringMatching(levels));
  expect(plan).toContainEqual(expect.stringMatching(totals));
});

test.each([
  `SELECT * FROM mirror_changes WHERE variant_id = '1'`,
  `SELECT * FROM mirror_changes WHERE variant_id = '1' ORDER BY seq DESC LIMIT 100`,
  `SELECT * FROM mirror_changes WHERE variant_id = '1' AND seq > 5 ORDER BY seq`,
])('uses an index in any program that opens the file: %s', (sql) => {
  const path = newPath();
  openWriter(path).close();
  const db = new Database(path, { readonly: true });
  onTestFinished(() => void db.close());
  expect(planOf(db, sql)[0]).toMatch(
    /^SEARCH changes USING INDEX changes_variant \(ANY\(<expr>\) AND variant_id=\?/,
  );
});

test('the status never scans the stock', () => {
  const db = writerDb();
  const large = ['stock_levels', 'variants', 'changes', 'inbox'];
  for (const sql of statements(db, (spied) => [queries.status(spied), queries.stateSample(spied)])) {
    expect(scans(db, sql, large), sql).toEqual([]);
  }
});
