/** Three short stories. `npm run test:full` runs twenty, `npm run simulate` as many as one likes. */
import { expect, test } from 'vitest';
import { drawPlan } from './plan.ts';
import { runPlan } from './run.ts';

test.each([3, 4, 11])('keeps every promise in story %i', async (seed) => {
  const { faults } = await runPlan(drawPlan(seed));
  expect(faults).toEqual([]);
});

test('plays the same story for the same seed', async () => {
  const first = await runPlan(drawPlan(1));
  const second = await runPlan(drawPlan(1));
  expect(first.faults).toEqual([]);
  expect(second.fingerprint).toBe(first.fingerprint);
});
