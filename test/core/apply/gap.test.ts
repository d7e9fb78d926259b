import { describe, expect, test } from 'vitest';
import { gapGraceMs, observeLateness } from '../../../src/core/merge/judge-gap.ts';
import type { Gap } from '../../../src/core/model.ts';
import type { StockChange } from '../../../src/core/input.ts';
import { present } from '../../shared/present.ts';
import { T0, change, kinds, mirrorAfterRead, productSnapshot, single, variantSnapshot } from '../builders.ts';

const S = 1_000;
const AT = T0 + 60 * S;
const link = (i: number): StockChange => change({ old: 5 - i, new: 4 - i, updateTimeMs: AT + i });

test('a lost delivery shows at the next one of its stock level', () => {
  const mirror = mirrorAfterRead();
  const facts = mirror.deliver(AT + 50, link(1));
  expect(kinds(facts)).toEqual(['change', 'gap_opened']);
  expect([mirror.qty(), mirror.reason()]).toEqual([3, null]);
  expect(mirror.tables.gapsOf('100')).toMatchObject([
    { fromQty: 5, toQty: 4, openedAtMs: AT + 50, dueAtMs: AT + 50 + 3 * S },
  ]);
});

test('a stock level has a hundred at most: whatever breaks its chain after that asks for the read at once', () => {
  const mirror = mirrorAfterRead();
  const leap = (i: number): StockChange => change({ old: 2 * i + 90, new: 2 * i, updateTimeMs: AT + i });
  for (let i = 0; i < 100; i += 1) mirror.deliver(AT + i, leap(i));
  expect([mirror.gaps().length, mirror.reason()]).toEqual([100, null]);
  expect(kinds(mirror.deliver(AT + 100, leap(100)))).not.toContain('gap_opened');
  expect([mirror.gaps().length, mirror.qty(), mirror.reason()]).toEqual([100, 200, 'conflict']);
  mirror.read(single(200), { sentAtMs: AT + 60 * S });
  expect([mirror.gaps(), mirror.reason()]).toEqual([[], null]);
});

describe('late deliveries close it, the value staying', () => {
  test.each([
    ['one', [1, 0]],
    ['two, the earlier first', [2, 0, 1]],
    ['two, the later first', [2, 1, 0]],
    ['three, from the end', [3, 2, 1, 0]],
    ['three, from the start', [3, 0, 1, 2]],
    ['three, from both ends', [3, 0, 2, 1]],
  ])('%s', (_name, order) => {
    const mirror = mirrorAfterRead();
    order.forEach((i, n) => mirror.deliver(AT + 50 + n, link(i)));
    expect([mirror.gaps(), mirror.qty(), mirror.reason()]).toEqual([[], 4 - present(order[0]), null]);
  });

  test('two of a value that came back, the later first', () => {
    const mirror = mirrorAfterRead();
    const qty = [5, 7, 5, 3, 4] as const;
    for (const [n, i] of ([1, 3, 2, 0] as const).entries()) {
      mirror.deliver(AT + 50 + n, change({ old: qty[i], new: qty[i + 1] ?? 0, updateTimeMs: AT + i }));
    }
    expect([mirror.gaps(), mirror.qty(), mirror.reason()]).toEqual([[], 4, null]);
  });

  test('a filler of the same instant', () => {
    const mirror = mirrorAfterRead();
    mirror.deliver(AT, change({ old: 4, new: 3, updateTimeMs: AT }));
    mirror.deliver(AT + 1, change({ old: 5, new: 4, updateTimeMs: AT }));
    expect([mirror.gaps(), mirror.qty(), mirror.reason()]).toEqual([[], 3, null]);
  });

  test('items of one body in the wrong order', () => {
    const mirror = mirrorAfterRead();
    mirror.deliver(AT, link(1), link(0));
    expect([mirror.gaps(), mirror.qty(), mirror.reason()]).toEqual([[], 3, null]);
  });

  test('and are reported', () => {
    const mirror = mirrorAfterRead();
    mirror.deliver(AT + 50, link(1));
    expect(mirror.deliver(AT + 51, link(0))).toContainEqual({
      kind: 'gap_closed',
      gap: expect.objectContaining({ fromQty: 5, toQty: 4 }) as Gap,
    });
  });

  test('they are learnt from: the next gap waits longer', () => {
    const mirror = mirrorAfterRead();
    mirror.deliver(AT + 3, link(1));
    mirror.deliver(AT + 2_500, link(0));
    mirror.deliver(AT + 9 * S, change({ old: 9, new: 8, updateTimeMs: AT + 9 * S }));
    const gap = present(mirror.tables.gapsOf('100')[0]);
    expect(gap.dueAtMs - gap.openedAtMs).toBeGreaterThan(4_900);
  });
});

test('late deliveries of another warehouse do not close it', () => {
  const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, 2: 5 })]));
  mirror.deliver(AT + 50, link(1));
  mirror.deliver(AT + 51, { ...link(2), warehouseId: '2' });
  mirror.deliver(AT + 52, { ...link(0), warehouseId: '2' });
  expect(mirror.gaps()).toEqual([
    { fromQty: 5, toQty: 4 },
    { fromQty: 4, toQty: 3 },
  ]);
});

test('one that comes in the middle of a longer break cannot be placed: the product is read', () => {
  const mirror = mirrorAfterRead();
  mirror.deliver(AT, link(3));
  mirror.deliver(AT + 1, link(1));
  expect(mirror.gaps()).toEqual([{ fromQty: 5, toQty: 2 }]);
  expect(mirror.reason()).toBe('conflict');
});

describe('the read that answers a gap', () => {
  test('proves a loss and names it', () => {
    const mirror = mirrorAfterRead();
    mirror.deliver(AT, change({ old: 4, new: 3, updateTimeMs: AT }));
    const facts = mirror.read(single(2), { sentAtMs: AT + 3 * S });
    const drift = { kind: 'drift', reason: 'gap', oldQty: 3, newQty: 2 };
    expect(facts).toContainEqual(expect.objectContaining(drift));
    expect(kinds(facts)).toContain('gap_proved');
    expect([mirror.qty(), mirror.gaps(), mirror.reason('10')]).toEqual([2, [], null]);
  });

  test('proves it also if it removes another level of the variant', () => {
    const both = (levels: Record<string, number>) => productSnapshot([variantSnapshot(levels)]);
    const mirror = mirrorAfterRead(both({ 1: 5, 2: 6 }));
    mirror.read(both({ 1: 5 }), { sentAtMs: AT });
    mirror.deliver(AT + 9 * S, change({ old: 4, new: 3, updateTimeMs: AT + 9 * S }));
    const facts = mirror.read(both({ 1: 3 }), { sentAtMs: AT + 30 * S });
    expect(kinds(facts)).toEqual(expect.arrayContaining(['removed', 'gap_proved']));
    expect(mirror.gaps()).toEqual([]);
  });

  test('must have been sent 2 s after it was opened', () => {
    const mirror = mirrorAfterRead();
    mirror.deliver(AT, change({ old: 4, new: 3, updateTimeMs: AT }));
    mirror.read(single(3), { sentAtMs: AT + 2 * S - 1 });
    expect(mirror.gaps()).toHaveLength(1);
    mirror.read(single(3), { sentAtMs: AT + 2 * S });
    expect(mirror.gaps()).toEqual([]);
  });
});

test.each([
  [0, 2_000],
  [1_000, 2_000],
  [1_001, 2_002],
  [1_500, 3_000],
  [3_000, 6_000],
  [60_000, 6_000],
])('a lateness of %i ms gives a grace of %i ms', (lateness, grace) => {
  expect(gapGraceMs(lateness)).toBe(grace);
});

test('lateness rises at once, sinks by tenths, and never below nothing', () => {
  expect(observeLateness(1_500, 4_000)).toBe(4_000);
  expect(observeLateness(1_500, 500)).toBe(1_400);
  expect(observeLateness(0, 0)).toBe(0);
});
