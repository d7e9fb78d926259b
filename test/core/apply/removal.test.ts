import { describe, expect, test } from 'vitest';
import { HELD_MS } from '../../../src/core/limits.ts';
import { present } from '../../shared/present.ts';
import {
  T0,
  Mirror,
  change,
  kinds,
  mirrorAfterRead,
  productSnapshot,
  single,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;
const FIRST = T0 + 60 * S;
const SECOND = FIRST + 30 * S;

const WHOLE = productSnapshot([
  variantSnapshot({ 1: 5, 2: 6 }),
  variantSnapshot({ 1: 7 }, { variantId: '101' }),
]);
const WITHOUT_LEVEL = productSnapshot([
  variantSnapshot({ 1: 5 }),
  variantSnapshot({ 1: 7 }, { variantId: '101' }),
]);
const WITHOUT_VARIANT = productSnapshot([variantSnapshot({ 1: 5, 2: 6 })]);
const NOT_FOUND = null;

const MISSING = [
  { what: 'level', id: '100/2', left: WITHOUT_LEVEL, variantId: '100', warehouseId: '2', total: 5 },
  { what: 'variant', id: '101', left: WITHOUT_VARIANT, variantId: '101', warehouseId: '1', total: null },
  { what: 'product', id: '10', left: NOT_FOUND, variantId: '101', warehouseId: '1', total: null },
] as const;

describe.each(MISSING)(
  'a $what that reads no longer show',
  ({ what, id, left, variantId, warehouseId, total }) => {
    test('is read again and removed after 30 s', () => {
      const mirror = mirrorAfterRead(WHOLE);
      const before = mirror.qty(variantId, warehouseId);
      expect(mirror.read(left, { sentAtMs: FIRST })).toContainEqual({ kind: 'missing', what, id });
      expect(mirror.qty(variantId, warehouseId)).toBe(before);
      expect(mirror.tables.readRequest('10')).toMatchObject({
        reason: 'confirm_removal',
        notBeforeMs: SECOND,
      });
      const facts = mirror.read(left, { sentAtMs: SECOND });
      expect(facts).toContainEqual({ kind: 'removed', what, id });
      expect([mirror.qty(variantId, warehouseId), mirror.total(variantId)]).toEqual([null, total]);
      expect(mirror.reason()).toBeNull();
      expect(mirror.rows(variantId, warehouseId).at(-1)).toMatchObject({
        oldQty: before,
        newQty: null,
        reason: 'removed',
      });
    });

    test('is not removed 1 ms sooner', () => {
      const mirror = mirrorAfterRead(WHOLE);
      mirror.read(left, { sentAtMs: FIRST });
      mirror.read(left, { sentAtMs: SECOND - 1 });
      expect(mirror.qty(variantId, warehouseId)).not.toBeNull();
      expect(mirror.tables.readRequest('10')?.notBeforeMs).toBeGreaterThanOrEqual(SECOND);
    });

    test('starts over if it returns in between', () => {
      const mirror = mirrorAfterRead(WHOLE);
      mirror.read(left, { sentAtMs: FIRST });
      mirror.read(WHOLE, { sentAtMs: FIRST + 10 * S });
      mirror.read(left, { sentAtMs: SECOND });
      expect(mirror.qty(variantId, warehouseId)).not.toBeNull();
    });

    test('is contested by a newer delivery', () => {
      const mirror = mirrorAfterRead(WHOLE);
      mirror.read(left, { sentAtMs: FIRST });
      const old = present(mirror.qty(variantId, warehouseId));
      mirror.deliver(SECOND, change({ variantId, warehouseId, old, new: 1, updateTimeMs: SECOND }));
      const facts = mirror.read(left, { sentAtMs: SECOND });
      expect(facts).toContainEqual({ kind: 'contested', what, id });
      expect(mirror.qty(variantId, warehouseId)).toBe(1);
      expect(mirror.tables.readRequest('10')).toBeDefined();
    });

    test('stays removed after a late webhook, is read after a newer one and returns with a read', () => {
      const mirror = mirrorAfterRead(WHOLE);
      mirror.read(left, { sentAtMs: FIRST });
      mirror.read(left, { sentAtMs: SECOND });
      const reported = { variantId, warehouseId, old: 1, new: 2 };
      mirror.deliver(SECOND + S, change({ ...reported, updateTimeMs: FIRST }));
      expect([mirror.qty(variantId, warehouseId), mirror.reason()]).toEqual([null, null]);
      mirror.deliver(SECOND + 20 * S, change({ ...reported, updateTimeMs: SECOND + 20 * S }));
      expect([mirror.qty(variantId, warehouseId), mirror.reason()]).toEqual([null, 'conflict']);

      mirror.read(WHOLE, { sentAtMs: SECOND + 40 * S });
      expect(mirror.qty(variantId, warehouseId)).toBe(what === 'level' ? 6 : 7);
      expect(mirror.reason()).toBeNull();
      expect(mirror.rows(variantId, warehouseId).at(-1)).toMatchObject({ oldQty: null, reason: 'restored' });
      expect(mirror.tables.product('10')).toMatchObject({ goneAtMs: null, missingAtMs: null });
    });
  },
);

test('suspects an empty warehouse that a newer delivery named, though the total agrees', () => {
  const mirror = mirrorAfterRead(WHOLE);
  mirror.deliver(FIRST, change({ warehouseId: '2', old: 6, new: 0, updateTimeMs: FIRST }));
  expect(mirror.reason()).toBeNull();
  mirror.read(WITHOUT_LEVEL, { sentAtMs: FIRST + S });
  expect([mirror.qty('100', '2'), mirror.total('100'), mirror.reason()]).toEqual([0, 5, 'conflict']);
});

test('does not restore a touched tombstone by a read of a lagging replica', () => {
  const mirror = mirrorAfterRead(WHOLE);
  mirror.read(WITHOUT_VARIANT, { sentAtMs: FIRST });
  mirror.read(WITHOUT_VARIANT, { sentAtMs: SECOND });
  const atMs = present(mirror.tables.variant('101')?.goneAtMs) + S;
  mirror.deliver(atMs, change({ variantId: '101', old: 7, new: 8, updateTimeMs: atMs }));
  mirror.read(WHOLE, { sentAtMs: atMs + 999 });
  expect([mirror.qty('101'), mirror.total('101'), mirror.reason()]).toEqual([null, null, 'conflict']);
});

describe('a removed variant that is restored and changes all the time', () => {
  function restored() {
    const mirror = mirrorAfterRead(WHOLE);
    mirror.read(NOT_FOUND, { sentAtMs: FIRST });
    mirror.read(NOT_FOUND, { sentAtMs: SECOND });
    const atMs = SECOND + 9 * S;
    mirror.deliver(atMs, change({ old: 5, new: 4, updateTimeMs: atMs - 10 }));
    const back = productSnapshot([
      variantSnapshot({ 1: 4, 2: 6 }),
      variantSnapshot({ 1: 7 }, { variantId: '101' }),
    ]);
    mirror.read(back, { sentAtMs: atMs + 400 });
    return { mirror, atMs };
  }

  test('returns with the read that shows it', () => {
    const { mirror } = restored();
    expect([mirror.total(), mirror.qty('100', '2'), mirror.qty('101')]).toEqual([10, 6, 7]);
    expect([mirror.qty('100', '1'), mirror.reason()]).toEqual([null, 'conflict']);
  });

  test('restores the changing level with its next change', () => {
    const { mirror, atMs } = restored();
    mirror.deliver(atMs + 1_700, change({ old: 4, new: 3, updateTimeMs: atMs + 1_690 }));
    expect([mirror.qty('100', '1'), mirror.total(), mirror.reason()]).toEqual([3, 9, 'conflict']);
    mirror.read(productSnapshot([variantSnapshot({ 1: 3, 2: 6 })]), { sentAtMs: atMs + 9 * S });
    expect([mirror.qty('100', '1'), mirror.total(), mirror.reason()]).toEqual([3, 9, 'confirm_removal']);
  });
});

test('does not count omitted warehouses as missing', () => {
  const mirror = mirrorAfterRead();
  const unlisted = productSnapshot([variantSnapshot(null, { availableQty: 5 })]);
  mirror.read(unlisted, { sentAtMs: FIRST });
  mirror.read(unlisted, { sentAtMs: SECOND });
  expect([mirror.qty(), mirror.reason()]).toEqual([5, null]);
});

test('removes nothing by an older 404 merged after a newer answer', () => {
  const mirror = mirrorAfterRead();
  mirror.read(null, { sentAtMs: FIRST });
  mirror.read(single(5), { sentAtMs: SECOND + 9 * S });
  mirror.read(null, { sentAtMs: SECOND, receivedAtMs: SECOND + 10 * S });
  expect(mirror.tables.product('10')).toMatchObject({ missingAtMs: null, readAtMs: SECOND + 9 * S });
  expect([mirror.qty(), mirror.reason()]).toEqual([5, 'conflict']);
});

describe('the guard', () => {
  /** 60 products, of which the first `missing` have been sighted missing. */
  function mirrorMissing(missing: number): Mirror {
    const mirror = new Mirror();
    for (let i = 0; i < 60; i += 1) {
      const snapshot = productSnapshot([variantSnapshot({ 1: 1 }, { variantId: `v${i}` })]);
      mirror.read(snapshot, { sentAtMs: T0, productId: `p${i}` });
    }
    for (let i = 0; i < missing; i += 1) mirror.read(null, { sentAtMs: FIRST, productId: `p${i}` });
    return mirror;
  }
  const confirm = (mirror: Mirror, count: number, sentAtMs = SECOND): void => {
    for (let i = 0; i < count; i += 1) mirror.read(null, { sentAtMs, productId: `p${i}` });
  };

  test('allows the removal of 20 products', () => {
    const mirror = mirrorMissing(20);
    confirm(mirror, 20);
    expect(mirror.tables.liveCount('product')).toBe(40);
  });

  test('holds 21 for the operator', () => {
    const mirror = mirrorMissing(21);
    confirm(mirror, 21);
    expect(mirror.tables.liveCount('product')).toBe(60);
    expect(mirror.tables.heldProducts()).toHaveLength(21);
    expect(mirror.facts).toContainEqual({
      kind: 'removals_held',
      what: 'product',
      productId: 'p0',
      missing: 21,
    });
    expect(mirror.tables.readRequest('p0')).toMatchObject({ notBeforeMs: HELD_MS, isSuspect: true });
  });

  test('holds the last product that any read has shown', () => {
    const mirror = new Mirror();
    const productIds = ['p0', 'p1', 'p2'];
    for (const [i, productId] of productIds.entries()) {
      mirror.read(productSnapshot([variantSnapshot({ 1: 1 }, { variantId: `v${i}` })]), {
        sentAtMs: T0,
        productId,
      });
    }
    mirror.applyInput({ kind: 'listed', atMs: T0 + S, productIds: [...productIds, 'p3'], lookup: false });
    for (const sentAtMs of [FIRST, SECOND]) {
      for (const productId of productIds) mirror.read(null, { sentAtMs, productId });
    }
    expect(mirror.tables.heldProducts()).toEqual(productIds);
    expect(mirror.tables.liveCount('product')).toBe(4);
  });

  test('ends with an operator’s request, which reads the held products', () => {
    const mirror = mirrorMissing(21);
    confirm(mirror, 21);
    mirror.applyInput({ kind: 'allow_removals', atMs: SECOND + S, untilMs: SECOND + 60 * S });
    expect(mirror.tables.readRequest('p0')).toMatchObject({
      reason: 'operator',
      notBeforeMs: SECOND + 3 * S,
    });
    confirm(mirror, 21, SECOND + 3 * S);
    expect(mirror.tables.liveCount('product')).toBe(39);
    expect(mirror.tables.readRequests.size).toBe(0);
  });
});

test('removes a product known only from a list with the first 404, without the guard', () => {
  const mirror = mirrorAfterRead();
  const productIds = Array.from({ length: 40 }, (_, n) => String(1_000 + n));
  mirror.applyInput({ kind: 'listed', atMs: T0 + S, productIds, lookup: false });
  for (const productId of productIds) {
    expect(mirror.tables.product(productId)?.goneAtMs).toBeNull();
    const facts = mirror.read(null, { sentAtMs: FIRST, productId });
    expect(kinds(facts)).toContain('not_found');
    expect(mirror.reason(productId)).toBeNull();
  }
  expect(mirror.tables.liveCount('product')).toBe(1);
  expect(mirror.tables.state().removalsInWindow).toBe(0);
  mirror.applyInput({ kind: 'listed', atMs: FIRST + S, productIds, lookup: false });
  expect(mirror.reason('1000')).toBe('listed');
});

test('reads an unknown product again if its 404 may be newer than the answer that shows it', () => {
  const mirror = new Mirror();
  mirror.read(null, { sentAtMs: FIRST, productId: 'p7' });
  expect(mirror.tables.liveCount('product')).toBe(0);
  mirror.read(productSnapshot([variantSnapshot({ 1: 5 })]), { sentAtMs: FIRST + S, productId: 'p7' });
  expect(mirror.reason('p7')).toBe('conflict');
  mirror.read(null, { sentAtMs: FIRST + 4 * S, productId: 'p7' });
  expect(mirror.reason('p7')).toBe('confirm_removal');
});

describe('a product that returns, with a variant whose warehouses no read shows', () => {
  const reported = (availableQty: number) =>
    productSnapshot([variantSnapshot(null, { kind: 'pulled', availableQty })]);
  const BACK = SECOND + 40 * S;
  const NEXT = BACK + 60 * S;

  function comeBack(): Mirror {
    const mirror = mirrorAfterRead(reported(9));
    mirror.deliver(T0 + 20 * S, change({ old: 5, new: 4, updateTimeMs: T0 + 20 * S }));
    mirror.read(reported(8), { sentAtMs: T0 + 40 * S });
    mirror.read(NOT_FOUND, { sentAtMs: FIRST });
    mirror.read(NOT_FOUND, { sentAtMs: SECOND });
    expect([mirror.qty('100', '1'), mirror.total('100')]).toEqual([null, null]);
    mirror.read(reported(8), { sentAtMs: BACK });
    return mirror;
  }

  test('shows the rows it had, suspect', () => {
    const mirror = comeBack();
    expect([mirror.qty('100', '1'), mirror.total('100')]).toEqual([4, 8]);
    expect(mirror.tables.stockLevel('100', '1')?.unexplainedAtMs).not.toBeNull();
    expect(mirror.rows('100', '1').at(-1)).toMatchObject({ oldQty: null, newQty: 4, reason: 'restored' });
  });

  test('takes the changes that follow, and the suspicion with them', () => {
    const mirror = comeBack();
    mirror.deliver(NEXT, change({ old: 4, new: 3, updateTimeMs: NEXT }));
    expect([mirror.qty('100', '1'), mirror.total('100')]).toEqual([3, 7]);
    expect(mirror.tables.stockLevel('100', '1')?.unexplainedAtMs).toBeNull();
    expect(mirror.rows('100', '1').at(-1)).toMatchObject({ oldQty: 4, newQty: 3, source: 'webhook' });
  });
});

describe('the warehouses of a variant whose kind changes', () => {
  const OF = (kind: 'own' | 'bundle' | 'pulled', levels: Record<string, number> | null) =>
    productSnapshot([
      variantSnapshot(levels, { kind, availableQty: 11 }),
      variantSnapshot({ 1: 7 }, { variantId: '101' }),
    ]);
  const quantities = (mirror: Mirror) => [mirror.qty('100', '1'), mirror.qty('100', '2'), mirror.total()];

  test.each(['bundle', 'pulled'] as const)('from own to %s are removed by two reads', (kind) => {
    const mirror = mirrorAfterRead(OF('own', { 1: 5, 2: 6 }));
    mirror.read(OF(kind, null), { sentAtMs: FIRST });
    expect(quantities(mirror)).toEqual([5, 6, 11]);
    expect(mirror.reason()).toBe('confirm_removal');
    mirror.read(OF(kind, null), { sentAtMs: SECOND });
    expect(quantities(mirror)).toEqual([null, null, 11]);
    expect(mirror.reason()).toBeNull();
  });

  test.each(['bundle', 'pulled'] as const)('from %s to own are those that the detail lists', (kind) => {
    const mirror = mirrorAfterRead(OF(kind, null));
    mirror.deliver(T0 + S, change({ warehouseId: '2', old: 7, new: 6, updateTimeMs: T0 + S }));
    mirror.read(OF('own', { 1: 11 }), { sentAtMs: FIRST });
    mirror.read(OF('own', { 1: 11 }), { sentAtMs: SECOND });
    expect(quantities(mirror)).toEqual([11, null, 11]);
    expect(mirror.reason()).toBeNull();
  });

  test('to pulled stay if only a webhook named them, and return with a newer one', () => {
    const mirror = mirrorAfterRead(OF('own', { 1: 5, 2: 6 }));
    for (const sentAtMs of [FIRST, SECOND]) mirror.read(OF('pulled', null), { sentAtMs });
    const atMs = SECOND + 10 * S;
    mirror.deliver(atMs, change({ warehouseId: '2', old: 6, new: 4, updateTimeMs: atMs }));
    expect(mirror.qty('100', '2')).toBe(4);
    for (const sentAtMs of [atMs + 60 * S, atMs + 120 * S]) mirror.read(OF('pulled', null), { sentAtMs });
    expect(mirror.qty('100', '2')).toBe(4);
  });

  test('of a kind that lists warehouses stay if the detail omits them', () => {
    const mirror = mirrorAfterRead(OF('own', { 1: 5, 2: 6 }));
    for (const sentAtMs of [FIRST, SECOND]) mirror.read(OF('own', null), { sentAtMs });
    expect(quantities(mirror)).toEqual([5, 6, 11]);
  });
});
