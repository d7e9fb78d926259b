import { expect, test } from 'vitest';
import { GUARD_WINDOW_MS } from '../../../src/core/limits.ts';
import {
  contradictsItself,
  countLevels,
  guardCountsTo,
  guardHolds,
  readHolds,
  removalWindow,
} from '../../../src/core/merge/removal-guard.ts';
import { stockLevel, T0, variantSnapshot } from '../builders.ts';

test.each([
  { when: 'few of few', live: 21, missing: 20, removed: 0, holds: false },
  { when: 'more than 20, more than 5 %', live: 400, missing: 21, removed: 0, holds: true },
  { when: 'more than 20, exactly 5 %', live: 420, missing: 21, removed: 0, holds: false },
  { when: 'more than 5 %, exactly 20', live: 100, missing: 20, removed: 0, holds: false },
  { when: 'those just removed count too', live: 90, missing: 11, removed: 10, holds: true },
  { when: 'and count in what there was before', live: 399, missing: 1, removed: 21, holds: true },
  { when: 'all of a small store', live: 3, missing: 3, removed: 0, holds: true },
  { when: 'the last of a small store, after the others', live: 1, missing: 1, removed: 2, holds: true },
  { when: 'all but one of a small store', live: 3, missing: 2, removed: 0, holds: false },
  { when: 'a store of one product', live: 1, missing: 1, removed: 0, holds: false },
  { when: '22 of 440 with those just removed', live: 419, missing: 1, removed: 21, holds: false },
  { when: 'all that any read has shown', live: 4, shown: 1, missing: 1, removed: 2, holds: true },
  { when: 'the only one that any read has shown', live: 4, shown: 1, missing: 1, removed: 0, holds: false },
])('$when: holds $holds', ({ live, shown = live, missing, removed, holds }) => {
  const count = { live, removedInWindow: removed };
  expect(guardHolds({ ...count, shown, missing })).toBe(holds);
  const counted = Math.min(missing, guardCountsTo(live));
  expect(guardHolds({ ...count, shown: Math.min(shown, counted + 1), missing: counted })).toBe(holds);
});

test('counts removals of each kind for an hour', () => {
  const count = {
    removalWindowStartMs: T0,
    removalsInWindow: 7,
    variantRemovalsInWindow: 8,
    levelRemovalsInWindow: 9,
  };
  for (const atMs of [T0, T0 + GUARD_WINDOW_MS - 1]) expect(removalWindow(count, atMs)).toBe(count);
  const none = { removalsInWindow: 0, variantRemovalsInWindow: 0, levelRemovalsInWindow: 0 };
  const later = T0 + GUARD_WINDOW_MS;
  expect(removalWindow(count, later)).toEqual({ removalWindowStartMs: later, ...none });
  expect(removalWindow(count, T0 - 1)).toEqual({ removalWindowStartMs: T0 - 1, ...none });
});

test.each([
  { when: '22 of 42', before: 42, missing: 22, missingGroups: 1, holds: true },
  { when: '21 of 42', before: 42, missing: 21, missingGroups: 1, holds: false },
  { when: 'all 20 in one warehouse', before: 20, missing: 20, missingGroups: 1, holds: false },
  { when: 'all of two', before: 2, missing: 2, missingGroups: 2, holds: true },
  { when: 'two of three', before: 3, missing: 2, missingGroups: 2, holds: false },
])('one read that leaves out $when: holds $holds', ({ before, missing, missingGroups, holds }) => {
  expect(readHolds({ before, missing, missingGroups })).toBe(holds);
});

const inWarehouses = (...warehouseIds: readonly string[]) =>
  warehouseIds.map((warehouseId) => stockLevel({ warehouseId }));

test.each([
  {
    when: 'one of two warehouses',
    listed: [{ seen: variantSnapshot({ 1: 5 }), levels: inWarehouses('1', '2') }],
    count: { before: 2, missing: 1, missingGroups: 1 },
  },
  {
    when: 'all warehouses of one variant',
    listed: [{ seen: variantSnapshot({}), levels: inWarehouses('1', '2') }],
    count: { before: 2, missing: 2, missingGroups: 2 },
  },
  {
    when: 'one warehouse of several variants',
    listed: [
      { seen: variantSnapshot({}), levels: inWarehouses('1') },
      { seen: variantSnapshot({}), levels: inWarehouses('1') },
    ],
    count: { before: 2, missing: 2, missingGroups: 1 },
  },
  {
    when: 'a warehouse that was removed before',
    listed: [{ seen: variantSnapshot({}), levels: [...inWarehouses('1'), stockLevel({ goneAtMs: T0 })] }],
    count: { before: 1, missing: 1, missingGroups: 1 },
  },
  {
    when: 'nothing, and shows a new warehouse',
    listed: [{ seen: variantSnapshot({ 1: 5, 2: 5 }), levels: inWarehouses('1') }],
    count: { before: 1, missing: 0, missingGroups: 0 },
  },
])('counts the levels of one read that leaves out $when', ({ listed, count }) => {
  expect(countLevels(listed)).toEqual(count);
});

test.each([
  { when: 'no warehouse', seen: variantSnapshot({}, { availableQty: 5 }), contradicts: true },
  { when: 'no warehouse', seen: variantSnapshot({}, { availableQty: -1 }), contradicts: true },
  { when: 'no warehouse and no stock', seen: variantSnapshot({}), contradicts: false },
  { when: 'a warehouse', seen: variantSnapshot({ 1: 5 }), contradicts: false },
  {
    when: 'warehouses that are omitted',
    seen: variantSnapshot(null, { availableQty: 5 }),
    contradicts: false,
  },
  {
    when: 'no warehouse, as a pulled variant',
    seen: variantSnapshot({}, { kind: 'pulled', availableQty: 5 }),
    contradicts: false,
  },
])('an answer of $seen.availableQty with $when contradicts itself: $contradicts', ({ seen, contradicts }) => {
  expect(contradictsItself(seen)).toBe(contradicts);
});
