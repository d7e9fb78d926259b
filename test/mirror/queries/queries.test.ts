import { expect, test } from 'vitest';
import { prepareRemaining } from '../../../src/mirror/writer/run-progress.ts';
import * as queries from '../../../src/mirror/reader/queries.ts';
import { present } from '../../shared/present.ts';
import { delivery, detail, DirectWriter, item, T0 } from '../mirror-file.ts';

const one = (id: string, qty = 1) => [{ id, levels: { 1: qty } }];

function park(writer: DirectWriter, productId: string): void {
  writer.giveUp(productId);
}

test('shows when the bundles of a changed component are due', () => {
  const writer = new DirectWriter();
  const areDue = (nowMs: number) => queries.areBundlesDue(writer.db, { nowMs });
  writer.read(
    '11',
    detail('11', [{ id: '110', levels: null, total: 1, more: { product_bundle_id: '1' } }]),
    T0 + 5_000,
  );
  writer.read('10', detail('10', [{ ...present(one('100', 5)[0]), more: { bundled_by_count: 1 } }]), T0);
  writer.deliver(delivery('c', item({ update_time: T0 + 20_000 })), T0 + 20_000);
  expect(areDue(T0 + 21_000)).toBe(false);
  expect(areDue(T0 + 10 * 60_000 + 20_000)).toBe(true);
});

test('finds products not read since an instant and products that the mirror does not have', () => {
  const writer = new DirectWriter();
  writer.read('10', detail('10', one('100')), T0);
  writer.read('11', detail('11', one('110')), T0 + 5);
  writer.remove('11', T0 + 60_000);
  expect(queries.unreadSince(writer.db, { productIds: ['12', '10', '11'], sinceMs: T0 + 1 })).toEqual([
    '12',
    '10',
  ]);
  expect(queries.absentProducts(writer.db, { productIds: ['12', '10', '11'] })).toEqual(['12', '11']);
});

test('counts the remaining reads of a scan and of a run of named products', () => {
  const writer = new DirectWriter();
  const readAfterMs = T0 + 1_000;
  for (const n of ['10', '11', '12', '13']) writer.read(n, detail(n, one(`${n}0`)), T0);
  writer.remove('13', T0 + 60_000);
  writer.read('12', detail('12', one('120')), T0 + 1_000);
  park(writer, '11');
  park(writer, '12');
  park(writer, '13');
  const remainingOf = prepareRemaining(writer.db);
  const left = (productIds: readonly string[] | null) => remainingOf({ readAfterMs, productIds, nowMs: T0 });
  expect(left(null)).toEqual({ total: 3, unread: 2, givenUp: 1 });

  const named = ['11', '12', '77'];
  writer.requestReads('operator', named, readAfterMs);
  expect(left(named)).toEqual({ total: 3, unread: 2, givenUp: 1 });
  writer.read('77', null, T0 + 200_000);
  writer.read('11', detail('11', one('110')), T0 + 200_000);
  expect(left(named)).toEqual({ total: 3, unread: 0, givenUp: 0 });
});

test('does not look at each unknown variant while a first read shows their products anyway', () => {
  const writer = new DirectWriter();
  const { db } = writer;
  const unknown = Array.from({ length: 100 }, (_, n) => item({ id: String(1_000 + n) }));
  writer.deliver(delivery('unknown', ...unknown), T0);
  writer.beginRun({ run: 'initial' });
  let looks = 0;
  db.function('looked_at', (variantId: string) => (looks += variantId === '' ? 0 : 1));
  db.exec('CREATE TEMP VIEW variants AS SELECT * FROM main.variants WHERE looked_at(variant_id)');
  expect(queries.searchFacts(db, { nowMs: T0 + 60_000 })).toBeNull();
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThan(5);
});
