/** The tables are what the event log gives when it is applied (docs/architecture.md#the-event-log). */
import { expect, test } from 'vitest';
import type { Db } from '../../src/sqlite/open.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  readEntry,
  rows,
  T0,
  values,
  writerDb,
} from '../mirror/mirror-file.ts';
import { applyAgain, dump } from '../mirror/replay.ts';

/** Makes every delivery that moves variant 666 fail while it is applied. */
function breakVariant666(db: Db): void {
  db.exec(`CREATE TRIGGER broken BEFORE INSERT ON stock_levels WHEN NEW.variant_id = '666'
           BEGIN SELECT RAISE(ABORT, 'a fault of the program'); END`);
}

test('the same body again is answered with its place in the log and merged no second time', () => {
  const writer = new DirectWriter();
  writer.deliver(delivery('a', item()));
  writer.deliver(delivery('b', item({ id: '101' })));
  const changes = values(writer.db, 'SELECT count(*) FROM changes');
  expect(writer.deliver(delivery('a', item()), T0 + 9)).toEqual({ seq: 1, duplicate: true, facts: [] });
  expect(values(writer.db, 'SELECT count(*) FROM log')).toEqual([2]);
  expect(values(writer.db, 'SELECT count(*) FROM changes')).toEqual(changes);
});

test('the same request id over another body is another delivery', () => {
  const writer = new DirectWriter();
  writer.deliver(delivery('a', item({ new: 4 })));
  expect(writer.deliver(delivery('a', item({ new: 3 })))).toMatchObject({ seq: 2, duplicate: false });
});

test('a body is kept byte for byte', () => {
  const writer = new DirectWriter();
  const body = Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x00, 0xff, 0xfe, 0x7d);
  writer.deliver(body);
  expect(values<Buffer>(writer.db, 'SELECT payload FROM log')[0]?.equals(body)).toBe(true);
});

test('the log applied again gives the same tables, byte for byte', () => {
  const writer = new DirectWriter();
  breakVariant666(writer.db);
  const tea = (qty: number) =>
    detail('10', [
      { id: '100', levels: { 1: qty, 2: 7 }, more: { prices: [], cost: '1.50', extra: { b: 1, a: 2 } } },
    ]);
  const set = detail('11', [{ id: '110', levels: null, total: 3, more: { product_bundle_id: '1' } }]);
  const half = detail('12', [{ id: '120', levels: { 1: 1 }, more: { name: 'half \ud800', sku: '\udc00' } }]);
  writer.read('10', tea(5), T0);
  writer.read('11', set, T0 + 100);
  writer.read('12', half, T0 + 200);
  writer.read('10', tea(5), T0 + 3_000);
  writer.read('12', half, T0 + 3_100);
  writer.deliver(
    delivery('a', item(), item({ id: '1000' }), item({ old: 'x', id: 7 }), item({ old: -0 })),
    T0 + 4_000,
  );
  writer.deliver(delivery('b', item({ old: 2, new: 1, update_time: T0 + 4_000 })), T0 + 4_100);
  writer.deliver(delivery('c', item({ id: '666' }), item({ id: '120' })), T0 + 4_200);
  writer.deliver(new TextEncoder().encode('}{'), T0 + 4_300);
  writer.append({ kind: 'due', atMs: T0 + 8_000, what: 'loss' });
  writer.append({ kind: 'listed', atMs: T0 + 8_001, productIds: ['10', '13'], lookup: false });
  writer.append({ kind: 'downtime', atMs: T0 + 8_002, downSinceMs: T0 });
  writer.append(readEntry('10', tea(1), { sentAtMs: T0 + 9_000, s0: 1 }));
  writer.read('10', tea(1), T0 + 20_000);
  writer.read('11', null, T0 + 20_100);
  writer.read('11', null, T0 + 60_000);
  writer.append({
    kind: 'lookup_missed',
    atMs: T0 + 61_000,
    s0: 16,
    sentAtMs: T0 + 61_000,
    variantIds: ['1000'],
  });
  writer.append({ kind: 'allow_removals', atMs: T0 + 62_000, untilMs: T0 + 99_000 });

  const leftOut = `SELECT count(*) FROM log WHERE kind = 'read' AND CAST(payload AS TEXT) LIKE '%"detail":{"hash":%'`;
  expect(values(writer.db, leftOut)).toEqual([3]);
  const again = writerDb();
  breakVariant666(again);
  expect(dump(applyAgain(writer.db, again))).toBe(dump(writer.db));
  expect(values<number>(writer.db, 'SELECT count(*) FROM changes')[0]).toBeGreaterThan(5);
});

test('texts that no database can hold do not look new at each read', () => {
  const writer = new DirectWriter();
  const half = detail('12', [{ id: '120', levels: { 1: 1 }, more: { name: 'half \ud800', sku: '\udc00' } }], {
    name: 'broken \udfff pair',
  });
  writer.read('12', half, T0);
  const before = rows(writer.db, 'SELECT change_seq FROM mirror_stock');
  writer.read('12', half, T0 + 10_000);
  expect(rows(writer.db, 'SELECT change_seq FROM mirror_stock')).toEqual(before);
});
