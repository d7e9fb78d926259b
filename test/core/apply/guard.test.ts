/** Removals that the guard holds for the operator (docs/architecture.md#mass-removal-guard). */
import { describe, expect, test } from 'vitest';
import { HELD_MS } from '../../../src/core/limits.ts';
import { T0, Mirror, mirrorAfterRead, productSnapshot, variantSnapshot } from '../builders.ts';

const S = 1_000;
const FIRST = T0 + 60 * S;
const SECOND = FIRST + 30 * S;

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
    // As old as the sighting, so that the next read meets whatever this one came too early for.
    expect(mirror.tables.readRequest('p0')).toMatchObject({
      madeAtMs: FIRST,
      notBeforeMs: HELD_MS,
      isSuspect: true,
    });
    expect(mirror.tables.product('p0')).toMatchObject({ goneAtMs: null, readAtMs: SECOND });
  });

  test('is disabled until the instant that the operator’s request names', () => {
    const mirror = mirrorMissing(21);
    confirm(mirror, 21);
    const untilMs = SECOND + 60 * S;
    mirror.applyInput({ kind: 'allow_removals', atMs: SECOND + S, untilMs });
    mirror.read(null, { sentAtMs: untilMs, productId: 'p0' });
    mirror.read(null, { sentAtMs: untilMs + 1, productId: 'p1' });
    expect(mirror.tables.product('p0')?.goneAtMs).toBe(untilMs);
    expect(mirror.tables.product('p1')?.goneAtMs).toBeNull();
  });

  test('counts the levels of a store, not its products', () => {
    const levels = (...warehouseIds: string[]) =>
      productSnapshot([variantSnapshot(Object.fromEntries(warehouseIds.map((id) => [id, 5])))]);
    const mirror = mirrorAfterRead(levels('1', '2', '3'));
    for (const sentAtMs of [FIRST, SECOND]) mirror.read(levels('1', '2'), { sentAtMs });
    for (const sentAtMs of [SECOND + 60 * S, SECOND + 90 * S]) mirror.read(levels('1'), { sentAtMs });
    expect([mirror.qty('100', '1'), mirror.qty('100', '2'), mirror.qty('100', '3')]).toEqual([5, null, null]);
    expect(mirror.tables.heldProducts()).toEqual([]);
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
