import { expect, test } from 'vitest';
import { isIsolated } from '../../src/core/runs.ts';

test.each([
  [1, 2, true],
  [1, 10_000, true],
  [2, 39, false],
  [2, 40, true],
  [50, 1_000, true],
  [51, 1_000, false],
  [1, 1, false],
])('%d of %d products given up are isolated: %s', (givenUp, products, expected) => {
  expect(isIsolated(givenUp, products)).toBe(expected);
});
