import { describe, expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  T0,
  change,
  kinds,
  mirrorAfterRead,
  productSnapshot,
  variantSnapshot,
  type Mirror,
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

/** With another product, because the guard holds the loss of everything. */
function stocked(snapshot = WHOLE): Mirror {
  const mirror = mirrorAfterRead(snapshot);
  mirror.read(productSnapshot([variantSnapshot({ 1: 3 }, { variantId: '201' })]), {
    sentAtMs: T0,
    productId: '20',
  });
  return mirror;
}

const MISSING = [
  { what: 'level', id: '100/2', left: WITHOUT_LEVEL, variantId: '100', warehouseId: '2', total: 5 },
  { what: 'variant', id: '101', left: WITHOUT_VARIANT, variantId: '101', warehouseId: '1', total: null },
  { what: 'product', id: '10', left: NOT_FOUND, variantId: '101', warehouseId: '1', total: null },
] as const;

describe.each(MISSING)(
  'a $what that reads no longer show',
  ({ what, id, left, variantId, warehouseId, total }) => {
    test('is read again and removed after 30 s', () => {
      const mirror = stocked();
      const before = mirror.qty(variantId, warehouseId);
      const sighted = mirror.read(left, { sentAtMs: FIRST });
      expect(sighted).toContainEqual({ kind: 'missing', what, id });
      expect(kinds(sighted)).not.toContain('contested');
      expect(mirror.qty(variantId, warehouseId)).toBe(before);
      expect(mirror.tables.readRequest('10')).toMatchObject({
        reason: 'confirm_removal',
        notBeforeMs: SECOND,
      });
      mirror.list(FIRST + 2 * S);
      const facts = mirror.read(left, { sentAtMs: SECOND });
      expect(facts).toContainEqual(expect.objectContaining({ kind: 'removed', what, id }));
      expect(kinds(facts)).not.toContain('removals_held');
      expect([mirror.qty(variantId, warehouseId), mirror.total(variantId)]).toEqual([null, total]);
      expect(mirror.reason()).toBeNull();
      expect(mirror.tables.state().removedInWindow).toBe(what === 'product' ? 3 : 1);
      expect(mirror.rows(variantId, warehouseId).at(-1)).toMatchObject({
        oldQty: before,
        newQty: null,
        reason: 'removed',
      });
    });

    test('is contested by a newer delivery', () => {
      const mirror = stocked();
      mirror.read(left, { sentAtMs: FIRST });
      const old = present(mirror.qty(variantId, warehouseId));
      mirror.deliver(SECOND, change({ variantId, warehouseId, old, new: 1, updateTimeMs: SECOND }));
      const facts = mirror.read(left, { sentAtMs: SECOND });
      expect(facts).toContainEqual({ kind: 'contested', what, id });
      expect(kinds(facts)).not.toContain('missing');
      expect(mirror.qty(variantId, warehouseId)).toBe(1);
      expect(mirror.tables.readRequest('10')).toBeDefined();
    });

    test('stays removed after a late webhook, is read after a newer one and returns with a read', () => {
      const mirror = stocked();
      mirror.read(left, { sentAtMs: FIRST });
      mirror.list(FIRST + 2 * S);
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
  const mirror = stocked();
  mirror.deliver(FIRST, change({ warehouseId: '2', old: 6, new: 0, updateTimeMs: FIRST }));
  expect(mirror.reason()).toBeNull();
  mirror.read(WITHOUT_LEVEL, { sentAtMs: FIRST + S });
  expect([mirror.qty('100', '2'), mirror.total('100'), mirror.reason()]).toEqual([0, 5, 'conflict']);
});

test('does not take a 404 right after a delivery for a sighting', () => {
  const mirror = stocked();
  mirror.deliver(FIRST, change({ old: 5, new: 4, updateTimeMs: FIRST }));
  mirror.read(NOT_FOUND, { sentAtMs: FIRST + S });
  expect(mirror.tables.product('10')).toMatchObject({ missingAtMs: null, readAtMs: FIRST + S });
  expect(mirror.reason()).toBe('conflict');
});

test('removes a removed product no second time, and restores it by no older answer', () => {
  const mirror = stocked();
  mirror.remove(FIRST);
  const { changes } = mirror.tables;
  const rows = changes.length;
  expect(mirror.read(NOT_FOUND, { sentAtMs: SECOND + 60 * S })).toEqual([]);
  expect(changes).toHaveLength(rows);
  mirror.read(WHOLE, { sentAtMs: SECOND + 59 * S, receivedAtMs: SECOND + 61 * S });
  expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([null, null, 'conflict']);
});

test('a row that was removed before its product or variant is not removed again with it', () => {
  const mirror = stocked();
  const only = productSnapshot([variantSnapshot({ 1: 5 })]);
  for (const sentAtMs of [FIRST, SECOND]) mirror.read(only, { sentAtMs });
  const { goneAtMs } = present(mirror.tables.variant('101'));
  expect(goneAtMs).toBe(SECOND);
  mirror.remove(SECOND + 60 * S);
  expect(mirror.total()).toBeNull();
  const removed = mirror.tables.changes.filter(({ reason }) => reason === 'removed');
  expect(removed.map(({ variantId, warehouseId, oldQty }) => [variantId, warehouseId, oldQty])).toEqual([
    ['100', '2', 6],
    ['101', '1', 7],
    ['101', null, 7],
    ['100', '1', 5],
    ['100', null, 5],
  ]);
  expect(mirror.tables.variant('101')?.goneAtMs).toBe(goneAtMs);
});

describe('a removed variant that is restored and changes all the time', () => {
  function restored() {
    const mirror = stocked();
    mirror.remove(FIRST);
    const atMs = SECOND + 9 * S;
    mirror.deliver(atMs, change({ old: 5, new: 4, updateTimeMs: atMs - 10 }));
    const back = productSnapshot([
      variantSnapshot({ 1: 4, 2: 6 }),
      variantSnapshot({ 1: 7 }, { variantId: '101' }),
    ]);
    mirror.read(back, { sentAtMs: atMs + 400 });
    return { mirror, atMs };
  }

  test('restores the changing level with its next change', () => {
    const { mirror, atMs } = restored();
    mirror.deliver(atMs + 1_700, change({ old: 4, new: 3, updateTimeMs: atMs + 1_690 }));
    expect([mirror.qty('100', '1'), mirror.total(), mirror.reason()]).toEqual([3, 9, 'conflict']);
    mirror.read(productSnapshot([variantSnapshot({ 1: 3, 2: 6 })]), { sentAtMs: atMs + 9 * S });
    expect([mirror.qty('100', '1'), mirror.total(), mirror.reason()]).toEqual([3, 9, 'confirm_removal']);
  });
});

describe('a product that answers 404', () => {
  test('stays, suspect, and is read every 5 min until a list settles it', () => {
    const mirror = stocked();
    for (const sentAtMs of [FIRST, SECOND]) mirror.read(NOT_FOUND, { sentAtMs });
    expect(mirror.total()).toBe(11);
    expect(mirror.tables.readRequest('10')).toMatchObject({
      reason: 'confirm_removal',
      madeAtMs: FIRST,
      notBeforeMs: SECOND + 300 * S,
    });
    expect(mirror.tables.product('10')).toMatchObject({ missingAtMs: FIRST, readAtMs: SECOND });
    mirror.list(SECOND + 40 * S, ['20']);
    expect(mirror.tables.readRequest('10')?.notBeforeMs).toBe(SECOND);
    mirror.read(NOT_FOUND, { sentAtMs: SECOND + 41 * S });
    expect([mirror.total(), mirror.tables.product('10')?.goneAtMs]).toEqual([null, SECOND + 41 * S]);
  });

  test('starts over if a list names it', () => {
    const mirror = stocked();
    mirror.read(NOT_FOUND, { sentAtMs: FIRST });
    expect(mirror.list(FIRST + 2 * S, ['10', '20'])).toContainEqual({
      kind: 'contested',
      what: 'product',
      id: '10',
    });
    expect(mirror.tables.readRequest('10')).toMatchObject({ isSuspect: true, notBeforeMs: SECOND });
    mirror.read(NOT_FOUND, { sentAtMs: SECOND });
    mirror.read(NOT_FOUND, { sentAtMs: SECOND + 30 * S });
    expect(mirror.total()).toBe(11);
    mirror.list(SECOND + 40 * S, ['20']);
    mirror.read(NOT_FOUND, { sentAtMs: SECOND + 41 * S });
    expect(mirror.total()).toBeNull();
  });

  test('stays missing if a page named it less than 2 s after the 404, which may be an older answer', () => {
    const mirror = stocked();
    mirror.read(NOT_FOUND, { sentAtMs: FIRST });
    expect(mirror.list(FIRST + 2 * S - 1, ['10', '20'])).toEqual([]);
    mirror.list(FIRST + 2 * S, ['20']);
    mirror.read(NOT_FOUND, { sentAtMs: SECOND });
    expect(mirror.total()).toBeNull();
  });

  test('of which the list knows nothing either is read at once, unless the guard holds it', () => {
    const mirror = mirrorAfterRead(WHOLE);
    for (const sentAtMs of [FIRST, SECOND]) mirror.read(NOT_FOUND, { sentAtMs });
    mirror.list(SECOND + 2 * S);
    mirror.read(NOT_FOUND, { sentAtMs: SECOND + 2 * S });
    expect(mirror.tables.heldProducts()).toEqual(['10']);
    mirror.list(SECOND + 9 * S);
    expect(mirror.tables.heldProducts()).toEqual(['10']);
  });
});

test('removes a product known only from a list with the first 404, without the guard', () => {
  const mirror = mirrorAfterRead();
  const productIds = Array.from({ length: 40 }, (_, n) => String(1_000 + n));
  mirror.applyInput({ kind: 'listed', atMs: T0 + S, sentAtMs: T0 + S, productIds, lookup: false });
  for (const productId of productIds) {
    expect(mirror.tables.product(productId)?.goneAtMs).toBeNull();
    const facts = mirror.read(null, { sentAtMs: FIRST, productId });
    expect(kinds(facts)).toContain('not_found');
    expect(mirror.reason(productId)).toBeNull();
  }
  expect(mirror.tables.state().removedInWindow).toBe(0);
  mirror.applyInput({ kind: 'listed', atMs: FIRST + S, sentAtMs: FIRST + S, productIds, lookup: false });
  expect(mirror.reason('1000')).toBe('listed');
});

describe('a product that returns, with a variant whose warehouses no read shows', () => {
  const reported = (availableQty: number) =>
    productSnapshot([variantSnapshot(null, { kind: 'pulled', availableQty })]);
  const BACK = SECOND + 40 * S;

  function comeBack(): Mirror {
    const mirror = stocked(reported(9));
    mirror.deliver(T0 + 20 * S, change({ old: 5, new: 4, updateTimeMs: T0 + 20 * S }));
    mirror.read(reported(8), { sentAtMs: T0 + 40 * S });
    mirror.remove(FIRST);
    expect([mirror.qty('100', '1'), mirror.total('100')]).toEqual([null, null]);
    mirror.read(reported(8), { sentAtMs: BACK });
    return mirror;
  }

  test('shows the rows it had', () => {
    const mirror = comeBack();
    expect([mirror.qty('100', '1'), mirror.total('100')]).toEqual([4, 8]);
    expect(mirror.rows('100', '1').at(-1)).toMatchObject({ oldQty: null, newQty: 4, reason: 'restored' });
  });
});
