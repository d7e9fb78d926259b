/** The bench asks every question of the mirror's file that the program asks. */
import { expect, test } from 'vitest';
import { unmeasured } from '../../../scripts/bench/parts/queries.ts';

test('no question is left out', () => {
  expect(unmeasured()).toEqual([]);
});
