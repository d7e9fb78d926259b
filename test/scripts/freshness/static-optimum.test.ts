import { expect, test } from 'vitest';
import { staticOptimum, wrongInAnHour } from '../../../scripts/freshness/static-optimum.ts';
import { ratesOf } from '../../../scripts/freshness/store.ts';

const rates = ratesOf(
  {
    products: 1_000,
    law: 'zipf',
    changesPerSecond: 1,
    loss: 0.01,
    losses: 'even',
    weather: 'calm',
    downtimeMs: 0,
    seed: 1,
  },
  () => 0.5,
);

test('it spends the budget, and a read moved from one level to another only costs', () => {
  const reads = staticOptimum(rates, 0.5);
  expect(reads.reduce((sum, one) => sum + one, 0)).toBeCloseTo(0.5, 6);
  const best = wrongInAnHour(rates, reads, 0.01);
  for (const [from, to] of [
    [3, 800],
    [800, 3],
    [50, 400],
    [400, 50],
  ] as const) {
    const moved = Float64Array.from(reads);
    const some = Math.min(1e-5, moved[from] ?? 0);
    moved[from] = (moved[from] ?? 0) - some;
    moved[to] = (moved[to] ?? 0) + some;
    expect(wrongInAnHour(rates, moved, 0.01)).toBeGreaterThanOrEqual(best - 1e-9);
  }
});

test('what changes so often that it heals itself is not read', () => {
  const reads = staticOptimum(rates, 0.01);
  const busiest = rates.indexOf(Math.max(...rates));
  expect(reads[busiest]).toBe(0);
});
