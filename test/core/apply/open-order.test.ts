/** A read and a change that came too close together to be ordered (docs/architecture.md#open-orders). */
import { expect, test } from 'vitest';
import { change, mirrorAfterRead, kinds, productSnapshot, single, T0, variantSnapshot } from '../builders.ts';

const S = 1_000;
/** A read whose window ends 2 s later: its `Date` has whole seconds, and clocks differ by a second. */
const READ = T0 + 60 * S;

/** The mirror has 5; a read of 5 comes at `READ`, and a change to 4 a second later. */
function changedWithinWindow() {
  const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, 2: 9 })]));
  mirror.read(productSnapshot([variantSnapshot({ 1: 5, 2: 9 })]), { sentAtMs: READ });
  mirror.deliver(READ + S, change({ old: 5, new: 4, updateTimeMs: READ + S }));
  expect(mirror.orders()).toEqual([{ fromQty: 5, toQty: 4 }]);
  return mirror;
}

test('ends with a read that was sent 2 s later, which proves no loss', () => {
  const mirror = changedWithinWindow();
  const found = productSnapshot([variantSnapshot({ 1: 5, 2: 9 })]);
  mirror.read(found, { sentAtMs: READ + 3 * S - 1 });
  expect(mirror.orders()).toHaveLength(1);
  const facts = mirror.read(found, { sentAtMs: READ + 6 * S });
  expect([mirror.orders(), mirror.qty()]).toEqual([[], 5]);
  expect(kinds(facts)).not.toContain('gap_proved');
});

test('stays open after a late change from before the read', () => {
  const mirror = changedWithinWindow();
  mirror.deliver(READ + 2 * S, change({ old: 6, new: 5, updateTimeMs: READ - 9 * S }));
  expect(mirror.orders()).toEqual([{ fromQty: 5, toQty: 4 }]);
});

test('is opened by an answer, with the quantity that it shows for the same warehouse', () => {
  const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, 2: 9 })]));
  mirror.deliver(READ - S, change({ warehouseId: '2', old: 9, new: 8, updateTimeMs: READ - S }));
  mirror.read(productSnapshot([variantSnapshot({ 1: 5, 2: 9 })]), { sentAtMs: READ });
  expect(mirror.orders()).toEqual([{ fromQty: 8, toQty: 9 }]);
});

test('gives the difference that a read finds the reason `order`', () => {
  const mirror = changedWithinWindow();
  mirror.read(productSnapshot([variantSnapshot({ 1: 5, 2: 9 })]), { sentAtMs: READ + 13 * S });
  expect(mirror.rows().at(-1)).toMatchObject({ source: 'read', reason: 'order', newQty: 5 });
});

test.each([
  ['10 s after the last answer', READ + S, READ + 10 * S],
  ['2 s after the change, if that is later', READ + 9 * S, READ + 11 * S],
])('is read %s', (_, atMs, dueAtMs) => {
  const mirror = mirrorAfterRead();
  mirror.read(single(5), { sentAtMs: READ });
  mirror.deliver(atMs, change({ old: 5, new: 4, updateTimeMs: READ + S }));
  expect(mirror.tables.gapsOf('100')).toMatchObject([{ openedAtMs: atMs, dueAtMs }]);
});

test('is opened by an answer of another quantity than a change just before it, and ends with the next change', () => {
  const mirror = mirrorAfterRead();
  mirror.deliver(READ - S, change({ old: 5, new: 4, updateTimeMs: READ - S }));
  mirror.read(single(5), { sentAtMs: READ });
  expect([mirror.orders(), mirror.qty()]).toEqual([[{ fromQty: 4, toQty: 5 }], 4]);
  mirror.deliver(READ + S, change({ old: 4, new: 3, updateTimeMs: READ + S }));
  expect([mirror.orders(), mirror.qty()]).toEqual([[{ fromQty: 4, toQty: 3 }], 3]);
  mirror.deliver(READ + 4 * S, change({ old: 3, new: 2, updateTimeMs: READ + 4 * S }));
  expect([mirror.orders(), mirror.qty(), mirror.reason()]).toEqual([[], 2, null]);
});
