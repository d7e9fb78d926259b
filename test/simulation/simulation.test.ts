/** Short stories. `npm run test:full` runs twenty, `npm run simulate` as many as you like. */
import { expect, test } from 'vitest';
import { drawPlan } from './draw-plan.ts';
import type { Plan, SceneDeed } from './plan.ts';
import { runPlan } from './run.ts';

test.each([
  [11, 'history'],
  [3, 'lives'],
] as const)('keeps every promise in story %i of %s', async (seed, kind) => {
  const { faults } = await runPlan(drawPlan(seed, kind));
  expect(faults).toEqual([]);
});

const alone = (action: SceneDeed, over: Partial<Plan> = {}): Plan => ({
  ...drawPlan(1),
  products: 12,
  nodeSkewMs: 0,
  serviceOffsetMs: 0,
  dateAheadMs: 0,
  readLatencyMs: 20,
  reconcileCron: null,
  resyncCron: null,
  maxConcurrency: 8,
  activeMs: 90_000,
  steps: [{ atMs: 20_000, action }],
  ...over,
});

test.each<[SceneDeed['scene'], Partial<Plan>?]>([
  ['moved'],
  ['overlapping_move'],
  ['untold_burst', { leavesOutWarehouses: true }],
])('keeps every promise in the scene %s', async (scene, over) => {
  const { faults, counts } = await runPlan(alone({ do: 'scene', scene, a: 0, b: 0, c: 0 }, over));
  expect(faults).toEqual([]);
  expect(counts[`scene: ${scene}`]).toBe(1);
});

test('plays the same story for the same seed', async () => {
  const first = await runPlan(drawPlan(1));
  const second = await runPlan(drawPlan(1));
  expect(first.faults).toEqual([]);
  expect(second.fingerprint).toBe(first.fingerprint);
});
