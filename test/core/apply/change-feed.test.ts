import { describe, expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  T0,
  Mirror,
  change,
  level,
  mirrorAfterRead,
  productSnapshot,
  single,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;
const AT = T0 + 60 * S;

test('chains the rows of a stock level and names their sources', () => {
  const mirror = mirrorAfterRead();
  mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT, orderId: '77', reason: 'order_reserved' }));
  mirror.read(single(2), { sentAtMs: AT + 10 * S });
  for (const sentAtMs of [AT + 20 * S, AT + 50 * S]) {
    mirror.read({ ...single(0), variants: [variantSnapshot({})] }, { sentAtMs });
  }
  expect(mirror.rows()).toMatchObject([
    { oldQty: null, newQty: 5, source: 'read', reason: 'first_read', inboxSeq: null },
    {
      oldQty: 5,
      newQty: 4,
      source: 'webhook',
      orderId: '77',
      updateTimeMs: AT,
      requestId: 'r2',
      inboxSeq: 2,
    },
    { oldQty: 4, newQty: 2, source: 'read', reason: 'lost_tail', recordedAtMs: AT + 10 * S },
    { oldQty: 2, newQty: null, source: 'read', reason: 'removed' },
  ]);
});

test('adds no row or number for a confirmation', () => {
  const mirror = mirrorAfterRead();
  const { changeSeq } = mirror.tables.state();
  mirror.read(single(5), { sentAtMs: AT });
  mirror.deliver(AT + 9 * S, change({ old: 6, new: 5, updateTimeMs: AT + 9 * S }));
  mirror.deliver(AT + 9 * S, change({ old: 6, new: 5, updateTimeMs: AT + 9 * S }));
  expect(mirror.tables.changes).toHaveLength(1);
  expect(mirror.tables.state().changeSeq).toBe(changeSeq);
});

test('gives a stock level and its variant the number of their change', () => {
  const mirror = mirrorAfterRead();
  mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
  const { seq } = present(mirror.rows().at(-1));
  expect(present(mirror.tables.stockLevel('100', '1')).changeSeq).toBe(seq);
  expect(present(mirror.tables.variant('100')).changeSeq).toBe(seq);
});

test.each([
  ['on-hand', { onHand: 9 }],
  ['reserved', { reservedQty: 4 }],
])('gives a stock level whose %s quantity a read changes a new number, without a row', (_, over) => {
  const mirror = mirrorAfterRead();
  const { changeSeq } = mirror.tables.state();
  mirror.read(
    productSnapshot([variantSnapshot({}, { availableQty: 5, onHand: 5, levels: [level(5, over)] })]),
    {
      sentAtMs: AT,
    },
  );
  expect(mirror.tables.stockLevel('100', '1')).toMatchObject({ ...over, changeSeq: changeSeq + 1 });
  expect(mirror.tables.changes).toHaveLength(1);
});

test('numbers only the stock level while a variant has no total', () => {
  const mirror = new Mirror();
  mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
  expect([mirror.tables.stockLevel('100', '1')?.changeSeq, mirror.tables.variant('100')?.changeSeq]).toEqual([
    1, 0,
  ]);
});

describe('a product of which one variant is missing, and one and a warehouse are removed', () => {
  const variants = ['100', '101', '102'].map((variantId) => variantSnapshot({ 1: 5 }, { variantId }));
  const shown = (count: number, name = 'Tea') => productSnapshot(variants.slice(0, count), { name });
  const rows = [
    ['100', true],
    ['101', true],
    ['102', false],
  ] as const;

  function partlyMissing(): Mirror {
    const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, 2: 6 }), ...variants.slice(1)]));
    for (const sentAtMs of [AT, AT + 30 * S]) mirror.read(shown(2), { sentAtMs });
    mirror.read(shown(1), { sentAtMs: AT + 60 * S });
    return mirror;
  }

  test('gives each row that shows its new name one new number', () => {
    const mirror = partlyMissing();
    const { changeSeq } = mirror.tables.state();
    mirror.read(shown(1, 'New'), { sentAtMs: AT + 70 * S });
    for (const [variantId, isNew] of rows) {
      expect(present(mirror.tables.variant(variantId)).changeSeq > changeSeq).toBe(isNew);
      expect(present(mirror.tables.stockLevel(variantId, '1')).changeSeq > changeSeq).toBe(isNew);
    }
    // Not the removed warehouse of the first one.
    expect(mirror.tables.state().changeSeq).toBe(changeSeq + 4);
  });

  test('gives no row a new number if the name stays', () => {
    const mirror = partlyMissing();
    const { changeSeq } = mirror.tables.state();
    mirror.read(shown(1), { sentAtMs: AT + 70 * S });
    expect(mirror.tables.state().changeSeq).toBe(changeSeq);
  });
});

test('a level that the answer with a new name omits keeps its new number while it is missing', () => {
  const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, 2: 6 })]));
  const { changeSeq } = mirror.tables.state();
  mirror.read({ ...single(5), name: 'New' }, { sentAtMs: AT });
  const missing = present(mirror.tables.stockLevel('100', '2'));
  expect(missing).toMatchObject({ qty: 6, missingAtMs: AT });
  expect(missing.changeSeq).toBeGreaterThan(changeSeq);
});

test('a variant whose level is removed gets a new number, and the other variants do not', () => {
  const other = variantSnapshot({ 1: 7 }, { variantId: '101' });
  const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, 2: 6 }), other]));
  const without = productSnapshot([variantSnapshot({ 1: 5 }, { availableQty: 11 }), other]);
  mirror.read(without, { sentAtMs: AT });
  const { changeSeq } = mirror.tables.state();
  mirror.read(without, { sentAtMs: AT + 30 * S });
  expect(mirror.rows('100', '2').at(-1)).toMatchObject({ newQty: null, sku: 'S-100' });
  expect(present(mirror.tables.variant('100')).changeSeq).toBeGreaterThan(changeSeq);
  expect(present(mirror.tables.variant('101')).changeSeq).toBeLessThanOrEqual(changeSeq);
});
