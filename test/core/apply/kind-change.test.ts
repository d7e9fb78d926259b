/** Levels of a variant whose details stop, or begin, to list warehouses (docs/architecture.md#removals). */
import { describe, expect, test } from 'vitest';
import { T0, change, mirrorAfterRead, productSnapshot, variantSnapshot, type Mirror } from '../builders.ts';

const S = 1_000;
const FIRST = T0 + 60 * S;
const SECOND = FIRST + 30 * S;

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

  test('to pulled are removed also if they are all that the product has', () => {
    const only = (kind: 'own' | 'pulled', levels: Record<string, number> | null) =>
      productSnapshot([variantSnapshot(levels, { kind, availableQty: 11 })]);
    const mirror = mirrorAfterRead(only('own', { 1: 5, 2: 6 }));
    const other = productSnapshot([variantSnapshot({ 1: 7 }, { variantId: '201' })]);
    mirror.read(other, { sentAtMs: T0, productId: '20' });
    for (const sentAtMs of [FIRST, SECOND]) mirror.read(only('pulled', null), { sentAtMs });
    expect(quantities(mirror)).toEqual([null, null, 11]);
    expect(mirror.tables.heldProducts()).toEqual([]);
  });

  test('of a kind that lists warehouses stay if the detail omits them', () => {
    const mirror = mirrorAfterRead(OF('own', { 1: 5, 2: 6 }));
    for (const sentAtMs of [FIRST, SECOND]) mirror.read(OF('own', null), { sentAtMs });
    expect(quantities(mirror)).toEqual([5, 6, 11]);
  });
});
