import { describe, expect, test } from 'vitest';
import type { Gap } from '../../../src/core/model.ts';
import type { StockChange } from '../../../src/core/input.ts';
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

describe('late deliveries close it, the value staying', () => {
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
});
