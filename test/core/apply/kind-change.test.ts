/** Levels of a variant whose details stop, or begin, to list warehouses (docs/architecture.md#removals). */
import { describe, expect, test } from 'vitest';
import { T0, mirrorAfterRead, productSnapshot, variantSnapshot, type Mirror } from '../builders.ts';

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
});
