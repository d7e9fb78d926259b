/** Removals that the guard holds for the operator (docs/architecture.md#mass-removal-guard). */
import { describe, expect, test } from 'vitest';
import type { ProductSnapshot } from '../../../src/core/input.ts';
import { GUARD_WINDOW_MS, HELD_MS } from '../../../src/core/limits.ts';
import { T0, Mirror, productSnapshot, variantSnapshot } from '../builders.ts';

const S = 1_000;
const FIRST = T0 + 60 * S;
const SECOND = FIRST + 30 * S;

type Detail = (productId: string) => ProductSnapshot | null;

/** With so many variants, each in so many warehouses. */
function detailOf(variants: number, warehouses: number): (productId: string) => ProductSnapshot {
  return (productId) =>
    productSnapshot(
      Array.from({ length: variants }, (_, v) => {
        const levels = Array.from({ length: warehouses }, (__, w) => [String(w + 1), 5]);
        return variantSnapshot(Object.fromEntries(levels) as Record<string, number>, {
          variantId: `${productId}${v}`,
        });
      }),
    );
}

const NOT_FOUND: Detail = () => null;
const ids = (products: number): string[] => Array.from({ length: products }, (_, p) => `p${p}-`);

function read(mirror: Mirror, productIds: readonly string[], detail: Detail, sentAtMs: number): void {
  for (const productId of productIds) mirror.read(detail(productId), { sentAtMs, productId });
}

/** The first `changed` products answer otherwise in two reads 30 s apart, and a list between them names the others. */
function changed(products: number, of: { whole: Detail; left: Detail; changed: number }): Mirror {
  const mirror = new Mirror();
  read(mirror, ids(products), of.whole, T0);
  const productIds = ids(of.changed);
  read(mirror, productIds, of.left, FIRST);
  mirror.list(FIRST + 2 * S, ids(products).slice(of.changed));
  read(mirror, productIds, of.left, SECOND);
  return mirror;
}

const liveLevels = (mirror: Mirror): number =>
  [...mirror.tables.levels.values()].filter((level) => level.goneAtMs === null).length;

describe.each([
  { what: 'products', whole: detailOf(1, 1), left: NOT_FOUND },
  { what: 'variants', whole: detailOf(2, 1), left: detailOf(1, 1) },
  { what: 'levels', whole: detailOf(1, 2), left: detailOf(1, 1) },
])('the guard', ({ what, whole, left }) => {
  const levels = 2 * 200 - (what === 'products' ? 200 : 0);

  test(`allows the removal of 50 ${what}`, () => {
    const mirror = changed(200, { whole, left, changed: 50 });
    expect([liveLevels(mirror), mirror.tables.heldProducts()]).toEqual([levels - 50, []]);
    expect(mirror.tables.state().removedInWindow).toBe(50);
  });

  test(`holds 51 ${what} for the operator`, () => {
    const mirror = changed(200, { whole, left, changed: 51 });
    expect(liveLevels(mirror)).toBe(levels);
    expect(mirror.tables.heldProducts()).toHaveLength(51);
    expect(mirror.facts).toContainEqual({ kind: 'removals_held', productId: 'p0-', missing: 51 });
    // As old as the sighting, so that the next read meets whatever this one came too early for.
    expect(mirror.tables.readRequest('p0-')).toMatchObject({ madeAtMs: FIRST, notBeforeMs: HELD_MS });
  });
});

test('counts quantities, however they are divided into products', () => {
  const mirror = new Mirror();
  read(mirror, ids(20), detailOf(5, 2), T0);
  read(
    mirror,
    ['total-'],
    (id) => productSnapshot([variantSnapshot(null, { variantId: id, kind: 'bundle' })]),
    T0,
  );
  const without = detailOf(5, 1);
  const fewer: Detail = (id) => productSnapshot(detailOf(4, 2)(id).variants);
  for (const sentAtMs of [FIRST, SECOND]) {
    // 30 + 10 + 1
    read(mirror, ['p0-', 'p1-', 'p2-', 'total-'], NOT_FOUND, sentAtMs);
    read(mirror, ['p3-', 'p4-'], without, sentAtMs);
    if (sentAtMs === FIRST) mirror.list(FIRST + 2 * S, ids(20).slice(3));
  }
  expect(mirror.tables.state().removedInWindow).toBe(41);
  // And 10 more, which are one too many.
  const more = ids(20).slice(5, 10);
  for (const sentAtMs of [SECOND + 60 * S, SECOND + 90 * S]) read(mirror, more, fewer, sentAtMs);
  expect(mirror.tables.heldProducts()).toEqual(more.toSorted());
});

test('removals found one by one by scheduled reads end after 50 within the hour', () => {
  const mirror = new Mirror();
  const empty = detailOf(1, 0);
  read(mirror, ids(100), detailOf(1, 1), T0);
  ids(100).forEach((productId, i) => {
    const atMs = FIRST + i * 30 * S;
    for (const sentAtMs of [atMs, atMs + 30 * S]) mirror.read(empty(productId), { sentAtMs, productId });
  });
  expect(liveLevels(mirror)).toBe(50);
});

test('releases nothing when the hour ends', () => {
  const mirror = changed(200, { whole: detailOf(1, 1), left: NOT_FOUND, changed: 51 });
  read(mirror, ids(51), NOT_FOUND, SECOND + GUARD_WINDOW_MS);
  expect(mirror.tables.heldProducts()).toHaveLength(51);
});

test('holds the last quantities of a small store', () => {
  const mirror = changed(3, { whole: detailOf(1, 1), left: NOT_FOUND, changed: 3 });
  expect(mirror.tables.heldProducts()).toEqual(ids(3));
  expect(liveLevels(mirror)).toBe(3);
});

test('lets a product go that the store shows again', () => {
  const mirror = changed(200, { whole: detailOf(1, 1), left: NOT_FOUND, changed: 60 });
  read(mirror, ids(30), detailOf(1, 1), SECOND + 60 * S);
  expect(mirror.tables.heldProducts()).toHaveLength(30);
});

describe('an operator’s decision', () => {
  const BY = { by: 'Ana', reason: 'end of season', runId: 1 };
  const decide = (mirror: Mirror, productIds: readonly string[] | null, atMs = SECOND + S) =>
    mirror.applyInput({ kind: 'allow_removals', atMs, productIds, ...BY });
  const held = (left: Detail = NOT_FOUND, whole = detailOf(1, 1)) =>
    changed(200, { whole, left, changed: 60 });

  test('reads the held products, and removes rows that are still missing, in the operator’s name', () => {
    const mirror = held();
    expect(decide(mirror, null)).toContainEqual({
      kind: 'removals_allowed',
      atMs: SECOND + S,
      productIds: ids(60).toSorted(),
      by: 'Ana',
      reason: 'end of season',
    });
    expect(mirror.tables.readRequest('p0-')).toMatchObject({
      reason: 'operator',
      notBeforeMs: SECOND + 3 * S,
    });
    read(mirror, ids(60), NOT_FOUND, SECOND + 3 * S);
    expect([liveLevels(mirror), mirror.tables.readRequests.size]).toEqual([140, 0]);
    const removed = mirror.tables.changes.filter(({ reason }) => reason === 'removed');
    expect(new Set(removed.map(({ userId }) => userId))).toEqual(new Set(['Ana']));
    expect(removed).toHaveLength(120);
  });

  test('may concern some of the products', () => {
    const mirror = held();
    decide(mirror, ['p3-', 'p4-', 'unknown']);
    read(mirror, ids(60), NOT_FOUND, SECOND + 3 * S);
    expect([mirror.tables.product('p3-'), mirror.tables.product('p4-')]).toMatchObject([
      { goneAtMs: SECOND + 3 * S },
      { goneAtMs: SECOND + 3 * S },
    ]);
    expect(liveLevels(mirror)).toBe(198);
  });

  test('is carried out once, for a product whose parts are missing', () => {
    const mirror = held(detailOf(1, 1), detailOf(2, 1));
    decide(mirror, ['p0-']);
    mirror.read(detailOf(1, 1)('p0-'), { sentAtMs: SECOND + 3 * S, productId: 'p0-' });
    expect(mirror.total('p0-1')).toBeNull();
    expect(mirror.tables.product('p0-')?.removalAllowedBy).toBeNull();
  });

  test('waits for the read that confirms the absence, and for no list', () => {
    const mirror = new Mirror();
    read(mirror, ids(3), detailOf(1, 1), T0);
    mirror.read(null, { sentAtMs: FIRST, productId: 'p0-' });
    decide(mirror, ['p0-'], FIRST + S);
    mirror.read(null, { sentAtMs: FIRST + 3 * S, productId: 'p0-' });
    expect(mirror.tables.product('p0-')).toMatchObject({ goneAtMs: null, removalAllowedBy: 'Ana' });
    mirror.read(null, { sentAtMs: SECOND, productId: 'p0-' });
    expect(mirror.tables.product('p0-')).toMatchObject({ goneAtMs: SECOND, removalAllowedBy: null });
  });

  test.each([
    ['warehouse', detailOf(1, 2)],
    ['variant', detailOf(2, 1)],
  ])('waits for the read that confirms the absence of a %s, and ends with it', (_, whole) => {
    const mirror = new Mirror();
    read(mirror, ids(3), whole, T0);
    const allowedBy = [FIRST, FIRST + 3 * S, SECOND].map((sentAtMs) => {
      mirror.read(detailOf(1, 1)('p0-'), { sentAtMs, productId: 'p0-' });
      if (sentAtMs === FIRST) decide(mirror, ['p0-'], FIRST + S);
      return mirror.tables.product('p0-')?.removalAllowedBy;
    });
    expect(allowedBy).toEqual(['Ana', 'Ana', null]);
    expect(mirror.tables.changes.at(-1)).toMatchObject({ reason: 'removed', userId: 'Ana' });
  });

  test('ends with a read that shows the product whole', () => {
    const mirror = held();
    decide(mirror, ['p0-']);
    mirror.read(detailOf(1, 1)('p0-'), { sentAtMs: SECOND + 3 * S, productId: 'p0-' });
    expect(mirror.tables.product('p0-')?.removalAllowedBy).toBeNull();
  });

  test('concerns no product that is removed', () => {
    const mirror = new Mirror();
    read(mirror, ids(3), detailOf(1, 1), T0);
    mirror.remove(FIRST, 'p0-');
    expect(decide(mirror, ['p0-'])).toMatchObject([{ kind: 'removals_allowed', productIds: [] }]);
    expect(mirror.reason('p0-')).toBeNull();
  });
});
