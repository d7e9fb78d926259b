/** The other questions the service asks its database. */
import { expect, test } from 'vitest';
import { getTableColumns } from '../../../src/sqlite/drizzle.ts';
import { queries } from '../../../src/mirror/reader/queries.ts';
import { runs } from '../../../src/mirror/file/schema.ts';
import { present } from '../../shared/present.ts';
import { delivery, detail, DirectWriter, item, T0 } from '../mirror-file.ts';

const one = (id: string, qty = 1) => [{ id, levels: { 1: qty } }];

function park(writer: DirectWriter, productId: string): void {
  writer.giveUp(productId, { attempts: 3, nextAtMs: T0 + 1 });
}

test('the clock brings lookups in the order they fall due, and postponed orders', () => {
  const writer = new DirectWriter();
  const chores = (nowMs: number) => queries.dueChores(writer.db, { nowMs });
  writer.deliver(delivery('a', item({ id: '102' })), T0 + 5);
  writer.deliver(delivery('b', item({ id: '101' })), T0 + 9);
  expect(chores(T0 + 4)).toEqual({ lookups: [], bundles: false });
  expect(chores(T0 + 9)).toEqual({ lookups: ['102', '101'], bundles: false });
  expect(queries.stillUnmapped(writer.db, { variantIds: ['101', '999'] })).toEqual(['101']);

  writer.read(
    '11',
    detail('11', [{ id: '110', levels: null, total: 1, more: { product_bundle_id: '1' } }]),
    T0,
  );
  writer.read('10', detail('10', [{ ...present(one('100', 5)[0]), more: { bundled_by_count: 1 } }]), T0);
  writer.deliver(delivery('c', item({ update_time: T0 + 20_000 })), T0 + 20_000);
  expect(chores(T0 + 21_000).bundles).toBe(false);
  expect(chores(T0 + 10 * 60_000 + 20_000).bundles).toBe(true);
});

test('which products were not read since, and which are not mirrored', () => {
  const writer = new DirectWriter();
  writer.read('10', detail('10', one('100')), T0);
  writer.read('11', detail('11', one('110')), T0 + 5);
  writer.read('11', null, T0 + 60_000);
  writer.read('11', null, T0 + 120_000);
  expect(queries.unreadSince(writer.db, { productIds: ['12', '10', '11'], sinceMs: T0 + 1 })).toEqual([
    '12',
    '10',
  ]);
  expect(queries.notMirrored(writer.db, { productIds: ['12', '10', '11'] })).toEqual(['12', '11']);
});

test('what is left of a scan of the catalogue, and of a run of named products', () => {
  const writer = new DirectWriter();
  const readAfterMs = T0 + 1_000;
  for (const n of ['10', '11', '12', '13']) writer.read(n, detail(n, one(`${n}0`)), T0);
  writer.read('13', null, T0 + 60_000);
  writer.read('13', null, T0 + 120_000);
  writer.read('12', detail('12', one('120')), T0 + 1_000);
  park(writer, '11');
  park(writer, '12');
  park(writer, '13');
  const left = (productIds: readonly string[] | null) =>
    queries.remainingOf(writer.db, { readAfterMs, productIds, nowMs: T0 });
  expect(left(null)).toEqual({ total: 3, unread: 2, parked: 1 });

  const named = ['11', '12', '77'];
  writer.append({
    kind: 'request_reads',
    atMs: readAfterMs,
    reason: 'operator',
    productIds: named,
    variantIds: [],
  });
  expect(left(named)).toEqual({ total: 3, unread: 2, parked: 1 });
  writer.read('77', null, T0 + 200_000);
  writer.read('11', detail('11', one('110')), T0 + 200_000);
  expect(left(named)).toEqual({ total: 3, unread: 0, parked: 0 });
});

test('runs by state, by id, and the latest', () => {
  const writer = new DirectWriter();
  const first = writer.beginRun({ run: 'initial' });
  const second = writer.beginRun({ run: 'products', productIds: ['1', '2'], total: 2 });
  expect(queries.runningRuns(writer.db).map(({ id }) => id)).toEqual([first, second]);
  expect(queries.runningCatalogueRun(writer.db)?.id).toBe(first);
  expect(queries.runById(writer.db, { id: second })).toMatchObject({
    productIds: ['1', '2'],
    listDone: true,
  });
  // The reader names its columns itself: none of the table's is forgotten.
  const columns = Object.keys(getTableColumns(runs)).map((name) =>
    name.replace('productIdsJson', 'productIds'),
  );
  expect(Object.keys(present(queries.runById(writer.db, { id: second }))).sort()).toEqual(columns.sort());
  writer.endRun(first, { atMs: T0 + 9, error: 'why' });
  expect(queries.runningCatalogueRun(writer.db)).toBe(null);
  expect(queries.latestRuns(writer.db, { limit: 5 })).toMatchObject([
    { id: second, state: 'running' },
    { id: first, state: 'failed', finishedAtMs: T0 + 9, error: 'why' },
  ]);
  expect(queries.runById(writer.db, { id: 99 })).toBe(null);
});

test('the last full sync is when a run had read the whole catalogue', () => {
  const writer = new DirectWriter();
  expect(queries.lastFullSync(writer.db)).toBeNull();
  writer.endRun(writer.beginRun(), { atMs: T0 + 2, fullSync: false });
  writer.endRun(writer.beginRun(), { atMs: T0 + 3, fullSync: true });
  expect(queries.lastFullSync(writer.db)).toBe(T0 + 3);
});

test('a read that succeeds forgets the failures before it', () => {
  const writer = new DirectWriter();
  park(writer, '10');
  const failure = () => queries.failureOf(writer.db, { productId: '10' });
  expect(failure()).toEqual({ attempts: 3, faults: 1, failedAtMs: T0, isGivenUp: true });
  writer.read('10', detail('10', one('100')), T0);
  expect(failure()).toEqual({ attempts: 0, faults: 0, failedAtMs: null, isGivenUp: false });
});
