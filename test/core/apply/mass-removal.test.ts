/** Details that omit many variants or levels (docs/architecture.md#mass-removal-guard). */
import { describe, expect, test } from 'vitest';
import type { ProductSnapshot } from '../../../src/core/input.ts';
import { HELD_MS } from '../../../src/core/limits.ts';
import { T0, Mirror, productSnapshot, variantSnapshot } from '../builders.ts';

const S = 1_000;
const FIRST = T0 + 60 * S;
const SECOND = FIRST + 30 * S;

type Detail = (productId: string) => ProductSnapshot;

function detailOf(variants: number, warehouses: number, shown = { variants, warehouses }): Detail {
  return (productId) =>
    productSnapshot(
      Array.from({ length: shown.variants }, (_, v) => {
        const levels = Array.from({ length: shown.warehouses }, (__, w) => [String(w + 1), 5]);
        return variantSnapshot(Object.fromEntries(levels) as Record<string, number>, {
          variantId: `${productId}${v}`,
          availableQty: 5 * shown.warehouses,
        });
      }),
    );
}

const ids = (products: number): string[] => Array.from({ length: products }, (_, p) => `p${p}-`);

function readAll(mirror: Mirror, products: number, detail: Detail, sentAtMs: number): void {
  for (const productId of ids(products)) mirror.read(detail(productId), { sentAtMs, productId });
}

function mirrorOf(products: number, detail: Detail): Mirror {
  const mirror = new Mirror();
  readAll(mirror, products, detail, T0);
  return mirror;
}

const liveLevels = (mirror: Mirror): number =>
  [...mirror.tables.levels.values()].filter((level) => level.goneAtMs === null).length;
const liveVariants = (mirror: Mirror): number =>
  [...mirror.tables.variants.values()].filter((variant) => variant.goneAtMs === null).length;

describe('details that suddenly come with `warehouses: []`', () => {
  const WHOLE = detailOf(1, 1);
  const EMPTY = detailOf(1, 1, { variants: 1, warehouses: 0 });

  test('remove no level of many products: all of them are held', () => {
    const mirror = mirrorOf(60, WHOLE);
    readAll(mirror, 60, EMPTY, FIRST);
    readAll(mirror, 60, EMPTY, SECOND);
    expect(liveLevels(mirror)).toBe(60);
    expect(mirror.tables.heldProducts()).toHaveLength(60);
    expect(mirror.tables.readRequest('p0-')).toMatchObject({ notBeforeMs: HELD_MS, isSuspect: true });
    expect(mirror.facts).toContainEqual({
      kind: 'removals_held',
      what: 'level',
      productId: 'p0-',
      missing: 21,
    });
  });

  test('what comes in turn, as the schedule reads, ends when 20 have gone within the hour', () => {
    const mirror = mirrorOf(60, WHOLE);
    ids(60).forEach((productId, i) => {
      mirror.read(EMPTY(productId), { sentAtMs: FIRST + i * 40 * S, productId });
      mirror.read(EMPTY(productId), { sentAtMs: FIRST + i * 40 * S + 30 * S, productId });
    });
    expect(liveLevels(mirror)).toBe(40);
  });

  test('end with an operator’s request or when the store shows the levels again', () => {
    const mirror = mirrorOf(60, WHOLE);
    readAll(mirror, 60, EMPTY, FIRST);
    readAll(mirror, 60, EMPTY, SECOND);
    readAll(mirror, 30, WHOLE, SECOND + 60 * S);
    expect(mirror.tables.heldProducts()).toHaveLength(30);
    mirror.applyInput({ kind: 'allow_removals', atMs: SECOND + 70 * S, untilMs: SECOND + 170 * S });
    for (const productId of ids(60).slice(30))
      mirror.read(EMPTY(productId), { sentAtMs: SECOND + 80 * S, productId });
    expect([liveLevels(mirror), mirror.tables.readRequests.size]).toEqual([30, 0]);
  });
});

test('details that list only their first variant do not remove the others of many products', () => {
  const mirror = mirrorOf(30, detailOf(3, 1));
  const first = detailOf(3, 1, { variants: 1, warehouses: 1 });
  readAll(mirror, 30, first, FIRST);
  readAll(mirror, 30, first, SECOND);
  expect(liveVariants(mirror)).toBe(90);
  expect(mirror.tables.heldProducts()).toHaveLength(30);
  expect(mirror.facts).toContainEqual({
    kind: 'removals_held',
    what: 'variant',
    productId: 'p0-',
    missing: 21,
  });
});

describe('one read', () => {
  const others = (mirror: Mirror): void => {
    for (let i = 0; i < 500; i += 1)
      mirror.read(detailOf(1, 1)(`x${i}-`), { sentAtMs: T0, productId: `x${i}-` });
  };
  const twice = (whole: Detail, left: Detail): Mirror => {
    const mirror = mirrorOf(1, whole);
    others(mirror);
    readAll(mirror, 1, left, FIRST);
    readAll(mirror, 1, left, SECOND);
    return mirror;
  };

  test('that shows none of several variants removes none', () => {
    const mirror = twice(detailOf(3, 1), detailOf(3, 1, { variants: 0, warehouses: 0 }));
    expect([liveVariants(mirror), mirror.tables.heldProducts()]).toEqual([503, ['p0-']]);
  });

  test('that shows none of several warehouses of a variant removes none', () => {
    const mirror = twice(detailOf(1, 2), detailOf(1, 2, { variants: 1, warehouses: 0 }));
    expect([liveLevels(mirror), mirror.tables.heldProducts()]).toEqual([502, ['p0-']]);
  });

  test('that leaves out the last variant after another one is ordinary: two of them remove it', () => {
    const mirror = twice(detailOf(2, 1), detailOf(2, 1, { variants: 1, warehouses: 1 }));
    const none = detailOf(2, 1, { variants: 0, warehouses: 0 });
    for (const sentAtMs of [SECOND + 60 * S, SECOND + 90 * S]) readAll(mirror, 1, none, sentAtMs);
    expect([liveVariants(mirror), mirror.tables.heldProducts()]).toEqual([500, []]);
  });

  test('that leaves out over 20 and half of the variants removes none', () => {
    const mirror = twice(detailOf(42, 1), detailOf(42, 1, { variants: 20, warehouses: 1 }));
    expect([liveVariants(mirror), mirror.tables.heldProducts()]).toEqual([542, ['p0-']]);
  });

  test.each([
    { of: 'the only warehouse of a product', whole: detailOf(2, 1), left: { variants: 2, warehouses: 0 } },
    { of: 'one warehouse of two', whole: detailOf(2, 2), left: { variants: 2, warehouses: 1 } },
    { of: 'one variant of two', whole: detailOf(2, 1), left: { variants: 1, warehouses: 1 } },
    { of: 'the only variant of a product', whole: detailOf(1, 2), left: { variants: 0, warehouses: 0 } },
  ])('that leaves out $of is ordinary: two of them remove it', ({ whole, left }) => {
    const mirror = twice(whole, detailOf(1, 1, left));
    const removed = mirror.facts.filter((fact) => fact.kind === 'removed');
    expect(removed.length).toBeGreaterThan(0);
    expect(mirror.tables.heldProducts()).toEqual([]);
    expect(mirror.reason('p0-')).toBeNull();
  });
});

test('what goes with its product or variant counts as that alone', () => {
  const mirror = mirrorOf(30, detailOf(2, 1));
  mirror.read(detailOf(42, 1)('big'), { sentAtMs: T0, productId: 'big' });
  for (const sentAtMs of [FIRST, SECOND]) mirror.read(null, { sentAtMs, productId: 'big' });
  expect(mirror.tables.state()).toMatchObject({
    removalsInWindow: 1,
    variantRemovalsInWindow: 0,
    levelRemovalsInWindow: 0,
  });
});
