/** The views that ERPs read (docs/reading-the-mirror.md#views). */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { getTableColumns } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { inbox } from '../../../src/inbox/inbox-table.ts';
import { VIEWS, type Column, type View } from '../../../src/mirror/file/view-columns.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  newPath,
  readerDb,
  rows,
  T0,
  values,
  writerDb,
} from '../mirror-file.ts';

function fill(writer: DirectWriter): void {
  writer.read(
    '10',
    detail('10', [
      { id: '100', levels: { 1: 5, 2: 0 }, more: { upc: '885', cost: '9.50', allow_negative_stock: true } },
      { id: '101', levels: { 1: 3 }, more: { product_assembly_id: '7', bundled_by_count: 1 } },
    ]),
    T0 - 60_000,
  );
  writer.read(
    '11',
    detail('11', [{ id: '110', levels: null, total: 2, more: { product_bundle_id: '3' } }], {
      update_time: T0 - 90_000,
    }),
    T0 - 60_000,
  );
  writer.read(
    '12',
    detail('12', [{ id: '120', levels: null, total: -4, more: { pulled_from_product_variant_id: '1' } }], {
      parent_id: '99',
    }),
    T0 - 60_000,
  );
  writer.deliver(delivery('r1', item(), item({ id: '101', old: 3, new: -1, update_time: T0 + 1 })), T0);
  writer.deliver(delivery('r2', item({ id: '999', old: 1, new: 2, order_id: null, user_id: '5' })), T0 + 10);
  writer.deliver(delivery('r3', item({ old: 9, new: 8, update_time: T0 + 20 })), T0 + 30);
}

/** A real number without a fraction looks like an integer here, so the type is SQLite's. */
function expectToFit(value: unknown, typeName: unknown, { type, isNullable }: Column): void {
  const isInteger = type === 'whole' || type === 'flag';
  expect([isInteger ? 'integer' : 'text', ...(isNullable ? ['null'] : [])]).toContain(typeName);
  if (type === 'flag') expect([0, 1, null]).toContain(value);
  if (typeof type === 'object') expect([...type, null]).toContain(value);
}

test.each(Object.entries<View>(VIEWS))('%s has the columns that its list says', (view, { columns }) => {
  const writer = new DirectWriter();
  fill(writer);
  writer.beat('stale', 'credentials');
  const names = Object.keys(columns);
  expect(values(writer.db, 'SELECT name FROM pragma_table_info(?)', view)).toEqual(names);
  for (const [name, column] of Object.entries(columns)) {
    const found = rows(writer.db, `SELECT ${name} AS value, typeof(${name}) AS type FROM ${view}`);
    expect(found.length).toBeGreaterThan(0);
    for (const { value, type } of found) expectToFit(value, type, column);
  }
});

test('queries know the columns of the inbox', () => {
  const found = rows(writerDb(), `SELECT name, type, "notnull", pk FROM pragma_table_info('inbox')`);
  const columns = Object.values(getTableColumns(inbox));
  expect(
    columns.map((column) => ({
      name: column.name,
      type: column.getSQLType().toUpperCase(),
      notnull: column.notNull && !column.primary ? 1 : 0,
      pk: column.primary ? 1 : 0,
    })),
  ).toEqual(found);
});

interface OldSqlite {
  readonly Database: new (file: Uint8Array) => {
    exec(sql: string): { readonly columns: string[]; readonly values: unknown[][] }[];
  };
}

/** sql.js 1.2.1, which is 31 MB. `npm ci --prefix tools` installs it. */
const OLD_SQLITE = join(import.meta.dirname, '../../../tools/node_modules/old-sqlite');

test.skipIf(!existsSync(OLD_SQLITE))('SQLite 3.31 reads the same rows', async () => {
  const require = createRequire(import.meta.url);
  const wasmBinary = readFileSync(join(OLD_SQLITE, 'dist/sql-wasm.wasm'));
  const db = writerDb();
  fill(new DirectWriter(db));
  const { Database } = await (require(OLD_SQLITE) as (options: object) => Promise<OldSqlite>)({
    wasmBinary,
  });
  // In-memory files have no write-ahead log.
  const old = new Database(db.serialize().fill(1, 18, 20));
  expect(old.exec('SELECT sqlite_version()')[0]?.values).toEqual([['3.31.1']]);
  for (const view of Object.keys(VIEWS)) {
    const sql = `SELECT * FROM ${view} ORDER BY 1, 2`;
    const expected = rows(db, sql);
    expect(expected.length, view).toBeGreaterThan(0);
    expect(old.exec(sql)[0]?.values, view).toEqual(expected.map(Object.values));
  }
});

test('combines webhook and read in one row per variant and warehouse', () => {
  const writer = new DirectWriter();
  fill(writer);
  expect(rows(writer.db, `SELECT * FROM mirror_stock WHERE variant_id = '101'`)).toEqual([
    {
      variant_id: '101',
      warehouse_id: '1',
      product_id: '10',
      sku: 'S-101',
      product_name: 'Product 10',
      variant_name: 'Variant 101',
      available_qty: -1,
      on_hand: 4,
      reserved_qty: 1,
      source: 'webhook',
      as_of: T0 + 1,
      on_hand_as_of: T0 - 60_000,
      verified_at: T0 - 60_000,
      suspect: 0,
      change_seq: expect.any(Number),
      warehouse_name: null,
      sellable: 1,
    },
  ]);
  expect(rows(writer.db, 'SELECT variant_id, kind, available_qty FROM mirror_variants ORDER BY 1')).toEqual([
    { variant_id: '100', kind: 'own', available_qty: 8 },
    { variant_id: '101', kind: 'assembled', available_qty: -1 },
    { variant_id: '110', kind: 'bundle', available_qty: 2 },
    { variant_id: '120', kind: 'pulled', available_qty: -4 },
  ]);
});

test('removes rows from the views and adds a change', () => {
  const writer = new DirectWriter();
  const before = detail('10', [
    { id: '100', levels: { 1: 5, 2: 1 } },
    { id: '101', levels: { 1: 3 } },
  ]);
  const after = detail('10', [{ id: '100', levels: { 1: 5 } }]);
  writer.read('10', before, T0);
  writer.read('10', after, T0 + 60_000);
  writer.read('10', after, T0 + 120_000);
  expect(values(writer.db, 'SELECT variant_id FROM mirror_variants')).toEqual(['100']);
  expect(values(writer.db, 'SELECT warehouse_id FROM mirror_stock')).toEqual(['1']);
  const removed = rows(
    writer.db,
    `SELECT variant_id, warehouse_id, old_qty, new_qty FROM mirror_changes WHERE reason = 'removed' ORDER BY 1, 2`,
  );
  expect(removed).toEqual([
    { variant_id: '100', warehouse_id: '2', old_qty: 1, new_qty: null },
    { variant_id: '101', warehouse_id: null, old_qty: 3, new_qty: null },
    { variant_id: '101', warehouse_id: '1', old_qty: 3, new_qty: null },
  ]);
});

test('shows names and differences in the feed, also of removed variants', () => {
  const writer = new DirectWriter();
  const of = (name: string) => detail('10', [{ id: '100', levels: { 1: 5 } }], { name });
  writer.read('10', of('Tea'), T0);
  writer.deliver(delivery('a', item({ old: 5, new: 3, update_time: T0 + 20_000 })), T0 + 20_000);
  writer.deliver(delivery('b', item({ id: '999', old: 1, new: 2, update_time: T0 + 20_000 })), T0 + 21_000);
  writer.read('10', of('Green tea'), T0 + 40_000);
  writer.remove('10', T0 + 80_000);
  expect(values(writer.db, 'SELECT count(*) FROM mirror_variants')).toEqual([0]);
  expect(
    rows(
      writer.db,
      'SELECT variant_id, warehouse_id, old_qty, new_qty, delta, product_name, variant_name FROM mirror_changes',
    ),
  ).toMatchObject([
    {
      variant_id: '100',
      old_qty: null,
      new_qty: 5,
      delta: null,
      product_name: 'Green tea',
      variant_name: 'Variant 100',
    },
    { variant_id: '100', old_qty: 5, new_qty: 3, delta: -2, product_name: 'Green tea' },
    { variant_id: '999', old_qty: null, new_qty: 2, delta: null, product_name: null, variant_name: '' },
    { variant_id: '100', old_qty: 3, new_qty: 5, delta: 2, product_name: 'Green tea' },
    { variant_id: '100', new_qty: null, delta: null, product_name: 'Green tea', variant_name: 'Variant 100' },
    { variant_id: '100', new_qty: null, delta: null, product_name: 'Green tea', variant_name: 'Variant 100' },
  ]);
});

test('refuses every write of a reader', () => {
  const path = newPath();
  const writer = new DirectWriter(writerDb(path));
  fill(writer);
  const before = rows(writer.db, 'SELECT * FROM stock_levels');
  const reader: Db = readerDb(path);
  const attempts = [
    'INSERT INTO gaps VALUES (1, 1, 1, 1, 1, 1, 1, 1)',
    'UPDATE stock_levels SET qty = 0',
    'DELETE FROM changes',
    'CREATE TABLE mine (x)',
    'DROP VIEW mirror_stock',
    'PRAGMA user_version = 7',
    'BEGIN IMMEDIATE',
    'VACUUM',
    'REINDEX',
    'PRAGMA query_only = OFF; DELETE FROM changes',
  ];
  for (const sql of attempts) expect(() => reader.exec(sql), sql).toThrow(/readonly|read-only/);
  expect(rows(writer.db, 'SELECT * FROM stock_levels')).toEqual(before);
});
