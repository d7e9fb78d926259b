import { describe, expect, test } from 'vitest';
import { fillGap, gapGraceMs, observeLateness } from '../../../src/core/apply/apply-delivery.ts';
import type { Gap } from '../../../src/core/model.ts';
import { T0, VARIANT, WAREHOUSE } from '../builders.ts';

const GAP: Gap = {
  variantId: VARIANT,
  warehouseId: WAREHOUSE,
  openedSeq: 3,
  openedAtMs: T0,
  dueAtMs: T0 + 3_000,
  fromQty: 5,
  toQty: 8,
};

describe('a gap 5…8 and a late change', () => {
  test.each<[string, number, number, 'closed' | [number, number] | null]>([
    ['fits both ends', 5, 8, 'closed'],
    ['starts it', 5, 6, [6, 8]],
    ['ends it', 7, 8, [5, 7]],
    ['starts it and leaves nothing', 5, 8, 'closed'],
    ['lies in its middle', 6, 7, null],
    ['lies beside it', 1, 2, null],
    ['is none at its start', 5, 5, null],
    ['is none at its end', 8, 8, null],
    ['turns back at its end', 8, 5, null],
  ])('that %s', (_name, old, next, left) => {
    const rest = fillGap(GAP, { old, new: next });
    expect(rest).toEqual(Array.isArray(left) ? { ...GAP, fromQty: left[0], toQty: left[1] } : left);
  });

  test('is closed by the second of two that meet', () => {
    const rest = fillGap(GAP, { old: 7, new: 8 });
    expect(rest).toMatchObject({ fromQty: 5, toQty: 7 });
    expect(fillGap(rest as Gap, { old: 5, new: 7 })).toBe('closed');
  });

  test('that comes back to where it started stays open until a change fits both ends', () => {
    const around = { ...GAP, toQty: 5 };
    expect(fillGap(around, { old: 5, new: 6 })).toMatchObject({ fromQty: 6, toQty: 5 });
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
