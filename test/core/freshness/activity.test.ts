import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ACTIVITY_HALF_LIFE_MS,
  faded,
  RATE_CLASSES,
  rateClassOf,
  shareOf,
  shareOfClass,
} from '../../../src/core/freshness/activity.ts';

test('half of a count is left after the half-life, a quarter after two', () => {
  expect(faded(1_000, ACTIVITY_HALF_LIFE_MS)).toBe(500);
  expect(faded(1_000, 2 * ACTIVITY_HALF_LIFE_MS)).toBe(250);
  expect(faded(1_000, 100 * ACTIVITY_HALF_LIFE_MS)).toBeLessThan(1e-20);
});

test('a clock that went back forgets nothing', () => {
  expect(faded(1_234, -5)).toBe(1_234);
});

test('a product that was never seen to change is quiet, not dead', () => {
  const store = { changes: 1_000, products: 10 };
  expect(shareOf(0, store)).toBeGreaterThan(0);
  expect(10 * shareOf(100, store)).toBeCloseTo(1, 9);
  expect(shareOf(0, { changes: 0, products: 0 })).toBe(1);
});

test('a share lies within a fifth of the middle of its class', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-8, max: 1, noNaN: true }), (share) => {
      const rateClass = rateClassOf(share);
      expect(rateClass).toBeLessThan(RATE_CLASSES);
      expect(Math.abs(Math.log2(shareOfClass(rateClass) / share))).toBeLessThanOrEqual(0.2501);
    }),
  );
});
