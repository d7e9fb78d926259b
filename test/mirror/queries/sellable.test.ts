/** `mirror_sellable` (docs/reading-the-mirror.md#mirror_sellable). */
import { expect, test } from 'vitest';
import { sellableRows, type StockFilter, type StockKey } from '../../../src/mirror/queries/stock.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { present } from '../../shared/present.ts';
import { beats, delivery, detail, DirectWriter, item, rows, T0, values } from '../mirror-file.ts';
import { afterAnyHistory } from '../random-history.ts';
import { suspectMirror } from '../suspect-mirror.ts';

const PULLED = { pulled_from_product_variant_id: '9' };
const BUNDLE = { product_bundle_id: '3' };

const KEYS = `SELECT variant_id || '/' || coalesce(warehouse_id, 'total') FROM mirror_sellable`;
const whyNot = ({ db }: DirectWriter): Record<string, string> =>
  Object.fromEntries(
    rows(
      db,
      `SELECT variant_id || '/' || coalesce(warehouse_id, 'total') AS key, why_not FROM mirror_sellable`,
    )
      .filter(({ why_not }) => why_not !== null)
      .map(({ key, why_not }) => [key, why_not]),
  ) as Record<string, string>;

function tea(): DirectWriter {
  const writer = new DirectWriter();
  writer.read(
    '10',
    detail('10', [
      { id: '100', levels: { 1: 5, 2: 7 } },
      { id: '101', levels: { 1: 1 } },
    ]),
    T0,
  );
  writer.beat();
  return writer;
}

test('has either the warehouses or the total of a variant', () => {
  const writer = tea();
  writer.read('11', detail('11', [{ id: '110', levels: null, total: 4, more: PULLED }]), T0);
  writer.read('12', detail('12', [{ id: '120', levels: null, total: 2, more: BUNDLE }]), T0);
  writer.read('13', detail('13', [{ id: '130', levels: {}, total: 0 }]), T0);
  // The store's detail does not say how the total is divided.
  writer.read('14', detail('14', [{ id: '140', levels: { 1: 3 } }]), T0);
  writer.read('14', detail('14', [{ id: '140', levels: null, total: 3 }]), T0 + 60_000);
  // No read can verify this warehouse.
  writer.deliver(delivery('a', item({ id: '110', old: 4, new: 3, update_time: T0 + 20_000 })), T0 + 20_000);
  expect(values(writer.db, `${KEYS} ORDER BY 1`)).toEqual([
    '100/1',
    '100/2',
    '101/1',
    '110/total',
    '120/total',
    '130/total',
    '140/total',
  ]);
  expect(
    values(writer.db, `SELECT sum(available_qty) FROM mirror_sellable WHERE variant_id IN ('110', '140')`),
  ).toEqual([6]);
});

test('trusts every row of a live mirror without a doubt', () => {
  const writer = tea();
  writer.read('11', detail('11', [{ id: '110', levels: null, total: 4, more: PULLED }]), T0);
  expect(whyNot(writer)).toEqual({});
  expect(values(writer.db, 'SELECT DISTINCT trusted FROM mirror_sellable')).toEqual([1]);
});

/** Long enough for a slow machine; a heartbeat counts for 10 s. */
const MINUTE_MS = 60_000;

test.each([
  ['was written long ago', -MINUTE_MS],
  // The wall clock was set back while no process ran.
  ['lies in the future', MINUTE_MS],
])('trusts no row while the heartbeat %s', (_how, byMs) => {
  const writer = tea();
  writer.db.prepare('UPDATE service_state SET alive_at_ms = ?').run(Date.now() + byMs);
  expect(rows(writer.db, 'SELECT state, state_cause FROM mirror_status')).toEqual([
    { state: 'stale', state_cause: 'stopped' },
  ]);
  expect(whyNot(writer)).toEqual({ '100/1': 'state', '100/2': 'state', '101/1': 'state' });
  expect(values(writer.db, 'SELECT DISTINCT trusted FROM mirror_sellable')).toEqual([0]);
});

test('says why a row is not trusted', () => {
  const writer = tea();
  writer.read('11', detail('11', [{ id: '110', levels: null, total: 4, more: PULLED }]), T0);
  writer.read('12', detail('12', [{ id: '120', levels: { 1: 9 } }]), T0);
  writer.read('13', detail('13', [{ id: '130', levels: { 1: 9 } }]), T0);
  writer.read('14', detail('14', [{ id: '140', levels: { 1: 9 } }]), T0 - 1);
  const at = { update_time: T0 + 20_000 };
  writer.deliver(delivery('a', item({ old: 4, new: 3, ...at })), T0 + 20_000);
  writer.deliver(delivery('b', item({ id: '110', old: 9, new: 8, ...at })), T0 + 20_000);
  writer.deliver(
    delivery('c', item({ id: '110', old: 6, new: 5, ...at, update_time: T0 + 21_000 })),
    T0 + 21_000,
  );
  writer.deliver(delivery('d', item({ id: '999', old: 9, new: 8, ...at })), T0 + 20_000);
  writer.requestReads('not_stored', ['12']);
  writer.db.exec(`UPDATE products SET read_at_ms = 0 WHERE product_id = '13'`);
  writer.db.exec('UPDATE mirror_state SET trusted_after_ms = 1');
  beats(writer.db, Date.now(), { checkedSinceMs: T0 });
  expect(whyNot(writer)).toEqual({
    '100/1': 'gap',
    '110/total': 'read_due',
    '120/1': 'read_due',
    '130/1': 'not_read',
    '140/1': 'unchecked',
    '999/1': 'unknown_product',
  });
});

test('trusts no bundle after one of the components has changed, until it is read', () => {
  const writer = new DirectWriter();
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 }, more: { bundled_by_count: 1 } }]), T0);
  writer.read('12', detail('12', [{ id: '120', levels: null, total: 2, more: BUNDLE }]), T0);
  writer.beat();
  expect(whyNot(writer)).toEqual({});
  writer.deliver(delivery('a', item({ old: 5, new: 4, update_time: T0 + 20_000 })), T0 + 20_000);
  expect(whyNot(writer)).toEqual({ '120/total': 'read_due' });
});

test('trusts exactly the rows that are not suspect', () => {
  const writer = suspectMirror();
  writer.beat();
  const { db } = writer;
  expect(values(db, 'SELECT count(*) FROM mirror_sellable WHERE trusted = (why_not IS NOT NULL)')).toEqual([
    0,
  ]);
  const untrusted = values(db, `${KEYS} WHERE trusted = 0 AND warehouse_id IS NOT NULL ORDER BY 1`);
  expect(untrusted.length).toBeGreaterThan(8);
  expect(untrusted).toEqual(
    values(
      db,
      `SELECT variant_id || '/' || warehouse_id FROM mirror_stock
       WHERE suspect = 1 AND variant_id NOT IN (SELECT variant_id FROM mirror_variants WHERE kind = 'pulled') ORDER BY 1`,
    ),
  );
});

function all(db: Db, limit: number, filter: StockFilter = {}): string[] {
  const keys: string[] = [];
  for (let after: StockKey = { variantId: '', warehouseId: '' }; ;) {
    const { rows: found, last, hasMore } = sellableRows(db, { ...filter, after, limit });
    expect(found.length).toBeLessThanOrEqual(limit);
    keys.push(...found.map((row) => `${row.variant_id}/${row.warehouse_id ?? 'total'}`));
    if (!hasMore) return keys;
    after = present(last);
  }
}

test.each([
  [{}, 'true'],
  [{ trusted: 0 }, 'trusted = 0'],
  [{ trusted: 1 }, 'trusted = 1'],
  [{ productId: '20' }, `product_id = '20'`],
  [{ warehouseId: '2' }, `warehouse_id = '2'`],
  [{ sku: 'S-500', trusted: 0 }, `sku = 'S-500' AND trusted = 0`],
] as const)('pages of %o are complete and in order', (filter, where) => {
  const writer = suspectMirror();
  const expectAll = (): void => {
    const expected = values(writer.db, `${KEYS} WHERE ${where} ORDER BY variant_id, warehouse_id`);
    for (const limit of [1, 2, 3, 40]) expect(all(writer.db, limit, filter)).toEqual(expected);
  };
  expectAll();
  writer.beat();
  expectAll();
});

type Row = Record<string, unknown>;
const FOLLOWED = `variant_id, warehouse_id, product_id, sku, product_name, variant_name, available_qty, allow_negative_stock, change_seq`;

/** Keeps a copy as docs/reading-the-mirror.md#following-changes says. */
function follow(db: Db, copy: Map<string, Row>, last: number): number {
  const removed = `SELECT * FROM mirror_changes WHERE seq > ? AND reason = 'removed' AND source = 'read' ORDER BY seq`;
  for (const { variant_id: id, warehouse_id: warehouse } of rows(db, removed, last)) {
    copy.delete(`${String(id)}/${String(warehouse)}`);
  }
  const changed = rows(
    db,
    `SELECT ${FOLLOWED} FROM mirror_sellable WHERE change_seq > ? ORDER BY change_seq`,
    last,
  );
  for (const row of changed) {
    const { variant_id: id, warehouse_id: warehouse } = row;
    for (const [key, known] of copy) {
      const isReplaced = (known['warehouse_id'] === null) !== (warehouse === null);
      if (known['variant_id'] === id && isReplaced) copy.delete(key);
    }
    copy.set(`${String(id)}/${String(warehouse)}`, row);
  }
  return values<number>(db, 'SELECT last_seq FROM mirror_status')[0] ?? 0;
}

test('a follower by number has every row after any history', () => {
  const seen = { total: 0, switched: 0 };
  afterAnyHistory(150, ({ db }, played) => {
    const copy = new Map<string, Row>();
    let last = 0;
    played(() => {
      const before = new Set(
        [...copy.values()].filter((row) => row['warehouse_id'] === null).map((row) => row['variant_id']),
      );
      last = follow(db, copy, last);
      const stock = rows(db, `SELECT ${FOLLOWED} FROM mirror_sellable `);
      const keyOf = (row: Row) => `${String(row['variant_id'])}/${String(row['warehouse_id'])}`;
      const copied = [...copy.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      expect(copied).toEqual(stock.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)));
      const totals = stock.filter((row) => row['warehouse_id'] === null);
      seen.total += totals.length;
      seen.switched += totals.filter((row) => !before.has(row['variant_id'])).length;
    });
  });
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(20);
});
