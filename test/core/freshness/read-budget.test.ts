import { expect, test } from 'vitest';
import { overdueReads, readsIn, readsPerHour } from '../../../src/core/freshness/read-budget.ts';

const HOUR_MS = 3_600_000;

test('each proven loss raises the budget, all of them to twelve times at most', () => {
  expect(readsPerHour(600, 0)).toBe(600);
  expect(readsPerHour(600, 8)).toBe(1_200);
  expect(readsPerHour(600, 10_000)).toBe(7_200);
});

test('a quarter of an hour allows a quarter, and a long calm is not paid back', () => {
  expect(readsIn(HOUR_MS / 4, 600)).toBe(150);
  expect(readsIn(24 * HOUR_MS, 600)).toBe(600);
  expect(readsIn(-5, 600)).toBe(0);
});

test.each([1, 7, 1_000])('within half the longest time all of %s products are read', (products) => {
  const longestMs = 48 * HOUR_MS;
  let reads = 0;
  for (let atMs = 0; atMs < longestMs / 2; atMs += HOUR_MS)
    reads += overdueReads(products, HOUR_MS, longestMs);
  expect(reads).toBeGreaterThanOrEqual(products);
});
