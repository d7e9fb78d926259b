import { expect, test } from 'vitest';
import {
  T0,
  Mirror,
  branches,
  change,
  kinds,
  mirrorAfterRead,
  productSnapshot,
  single,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;

test.each([
  ['before it arrived', T0 + 59 * S],
  ['less than 2 s after it arrived', T0 + 62 * S - 1],
])('a read sent %s does not overwrite a webhook, and the next one settles it', (_, sentAtMs) => {
  const mirror = mirrorAfterRead();
  mirror.deliver(T0 + 60 * S, change({ old: 5, new: 4, updateTimeMs: T0 + 60 * S }));
  expect(branches(mirror.read(single(5), { sentAtMs }))).toEqual(['concurrent, differs']);
  expect([mirror.qty(), mirror.total()]).toEqual([4, 4]);
  expect([mirror.orders(), mirror.reason()]).toEqual([[{ fromQty: 4, toQty: 5 }], null]);
  mirror.read(single(4), { sentAtMs: sentAtMs + 5 * S });
  expect([mirror.qty(), mirror.orders()]).toEqual([4, []]);
});

test('an older read merged after a newer one overwrites nothing and describes nothing', () => {
  const mirror = mirrorAfterRead();
  mirror.read({ ...single(7), name: 'New' }, { sentAtMs: T0 + 60 * S });
  const older = productSnapshot([variantSnapshot({ 1: 6 }, { sku: 'OLD' })], { name: 'Old' });
  mirror.read(older, { sentAtMs: T0 + 59 * S, receivedAtMs: T0 + 61 * S });
  expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([7, 7, 'conflict']);
  expect(mirror.tables.product('10')).toMatchObject({ name: 'New', readAtMs: T0 + 60 * S });
  expect(mirror.tables.variant('100')?.sku).toBe('S-100');
});

test('a request about a variant not yet mapped is as young as the delivery that a read did not see', () => {
  const mirror = new Mirror();
  // Received at T0, yet logged after the delivery that came 500 ms later.
  mirror.deliver(T0 + 500, change({ old: 5, new: 4, updateTimeMs: T0 }));
  mirror.read(single(4), { sentAtMs: T0 - S, receivedAtMs: T0 });
  expect(mirror.tables.readRequest('10')).toMatchObject({ madeAtMs: T0 + 500, notBeforeMs: T0 + 2_500 });
});

test('the read that meets a request reports the age of its first cause', () => {
  const mirror = mirrorAfterRead();
  for (const atMs of [T0 + 10 * S, T0 + 20 * S]) mirror.requestReads(atMs, 'conflict', ['10']);
  expect(kinds(mirror.facts).filter((kind) => kind === 'read_requested')).toHaveLength(1);
  const facts = mirror.read(single(5), { sentAtMs: T0 + 60 * S });
  expect(facts).toContainEqual({ kind: 'met', productId: '10', reason: 'conflict', ageMs: 50 * S });
});

test('a read reports how many totals and quantities it compared, and when its product was read before', () => {
  const mirror = mirrorAfterRead();
  const pulled = variantSnapshot(null, { variantId: '101', kind: 'pulled' });
  const snapshot = productSnapshot([variantSnapshot({ 1: 5, 2: 6 }), pulled]);
  const facts = mirror.read(snapshot, { sentAtMs: T0 + 60 * S });
  expect(facts).toContainEqual({ kind: 'compared', productId: '10', values: 4, lastReadAtMs: T0 });
});

test('a read of another store is not merged and settles nothing', () => {
  const mirror = mirrorAfterRead();
  mirror.requestReads(T0 + 10 * S, 'operator', ['10']);
  const facts = mirror.read({ ...single(99), storeId: '2' }, { sentAtMs: T0 + 60 * S });
  expect(facts).toEqual([{ kind: 'wrong_store', expected: '1', found: '2' }]);
  expect([mirror.qty(), mirror.reason()]).toEqual([5, 'operator']);
  expect(mirror.tables.state().storeId).toBe('1');
});

test('makes the window endless after the store’s clock was set back and learns its bounds again', () => {
  const mirror = mirrorAfterRead();
  mirror.deliver(T0 + 60 * S, change({ old: 5, new: 4, updateTimeMs: T0 + 60 * S }));
  const facts = mirror.read(single(4), { sentAtMs: T0 + 90 * S, serverDateMs: T0 });
  expect(kinds(facts)).toContain('clock_contradiction');
  expect(mirror.tables.state()).toMatchObject({ offsetFloorMs: null, offsetFloorPreviousMs: null });
  mirror.deliver(T0 + 99 * S, change({ old: 4, new: 3, updateTimeMs: T0 + 99 * S }));
  expect([mirror.qty(), mirror.reason()]).toEqual([3, 'conflict']);
});

test('a late change from before a step of the store’s clock does not look newer than reads that saw it', () => {
  const mirror = mirrorAfterRead();
  mirror.deliver(T0 + 60 * S, change({ old: 5, new: 6, updateTimeMs: T0 + 60 * S }));
  // 6 to 5 at T0 + 68 s by the clock before, and back to 6 by the clock set back by 10 s, whose webhook is lost.
  for (const sentAtMs of [T0 + 70 * S, T0 + 73 * S])
    mirror.read(single(6), { sentAtMs, serverDateMs: sentAtMs - 10 * S });
  const late = mirror.deliver(T0 + 78 * S, change({ old: 6, new: 5, updateTimeMs: T0 + 68 * S }));
  expect(branches(late)).toEqual(['4b uncertain']);
  // The clock has passed the last stamp of before.
  mirror.read(single(6), { sentAtMs: T0 + 90 * S, serverDateMs: T0 + 80 * S });
  const next = mirror.deliver(T0 + 95 * S, change({ old: 6, new: 7, updateTimeMs: T0 + 85 * S }));
  expect(branches(next)).toEqual(['4c follows']);
});
