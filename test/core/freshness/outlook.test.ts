import { expect, test } from 'vitest';
import { RATE_CLASSES, rateClassOf, shareOfClass } from '../../../src/core/freshness/activity.ts';
import { expectedWrongAt } from '../../../src/core/freshness/outlook.ts';

const PRODUCTS = 1_000;
const share = shareOfClass(rateClassOf(1 / PRODUCTS));
/** Each product changes once an hour or so. */
const store = {
  countOfClass: Float64Array.from({ length: RATE_CLASSES }, (_, i) =>
    i === rateClassOf(1 / PRODUCTS) ? PRODUCTS : 0,
  ),
  changesPerMs: PRODUCTS / 3_600_000,
  lossRate: 0.01,
};
const ratePerHour = share * PRODUCTS;

test('without reads a lost change stays until the next of its level', () => {
  expect(expectedWrongAt(store, 0)).toBeCloseTo(PRODUCTS * 0.01, 0);
});

test.each([1_000, 3_000, 10_000])(
  '%s reads an hour leave no more than evenly spread ones would',
  (readsPerHour) => {
    const reads = readsPerHour / PRODUCTS;
    const evenly = (PRODUCTS * 0.01 * ratePerHour) / (ratePerHour + 2 * reads);
    const wrong = expectedWrongAt(store, readsPerHour);
    expect(wrong).toBeLessThan(1.03 * evenly);
    expect(wrong).toBeGreaterThan(0.6 * evenly);
  },
);

test('an empty store has nothing wrong', () => {
  expect(expectedWrongAt({ ...store, countOfClass: new Float64Array(RATE_CLASSES) }, 100)).toBe(0);
});
