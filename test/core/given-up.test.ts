import { expect, test } from 'vitest';
import { isGivenUp, isIsolated } from '../../src/core/runs.ts';

test.each([
  { parked: true, faults: 0, givenUp: true },
  { parked: false, faults: 10, givenUp: true },
  { parked: false, faults: 9, givenUp: false },
])('a product with parked $parked and $faults faults is given up: $givenUp', ({ givenUp, ...read }) => {
  expect(isGivenUp(read)).toBe(givenUp);
});

test.each([
  [0, 0, true],
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
