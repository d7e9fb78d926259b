/** The bench against what is known without it. */
import { expect, test } from 'vitest';
import { CostMirror } from '../../../scripts/freshness/cost-mirror.ts';
import { oracle, roundRobin, staticPolicy } from '../../../scripts/freshness/policies.ts';
import { planned } from '../../../scripts/freshness/planned.ts';
import { RulesMirror } from '../../../scripts/freshness/rules-mirror.ts';
import { run, type Scenario } from '../../../scripts/freshness/run.ts';
import { staticOptimum, wrongInAnHour } from '../../../scripts/freshness/static-optimum.ts';
import { ratesOf } from '../../../scripts/freshness/store.ts';
import { seeded } from '../../../scripts/freshness/random.ts';

const plan = {
  products: 300,
  law: 'zipf',
  changesPerSecond: 1,
  loss: 0.05,
  losses: 'even',
  weather: 'calm',
  downtimeMs: 0,
  seed: 4,
} as const;
const hours = { warmHours: 2, hours: 8 };
const byCost: Scenario['mirror'] = (products) => new CostMirror(products);
const byRules: Scenario['mirror'] = (products, atMs) => new RulesMirror(products, atMs);

test('the static schedule leaves what its formula says', () => {
  const readsPerHour = 300;
  const rates = ratesOf(plan, seeded(plan.seed));
  const expected = wrongInAnHour(rates, staticOptimum(rates, readsPerHour / 3_600), plan.loss);
  const { wrongPerHour } = run({ plan, ...hours, mirror: byCost, policy: staticPolicy(readsPerHour) });
  // Changes on their way are wrong as well: 0.15 s each. For reads about as often as changes the formula is an eighth low.
  const ratio = wrongPerHour / (expected + 3_600 * 0.15);
  expect(ratio).toBeGreaterThan(0.9);
  expect(ratio).toBeLessThan(1.2);
});

test('the cost model and the real rules leave nearly the same', () => {
  const short = { warmHours: 1, hours: 6 };
  const cost = run({ plan, ...short, mirror: byCost, policy: roundRobin(300) });
  const rules = run({ plan, ...short, mirror: byRules, policy: roundRobin(300) });
  expect(rules.wrongPerHour / cost.wrongPerHour).toBeGreaterThan(0.9);
  expect(rules.wrongPerHour / cost.wrongPerHour).toBeLessThan(1.1);
  expect(rules.lostPerHour).toBe(cost.lostPerHour);
});

test('ours leaves less than the best static one, and the oracle less than any', () => {
  const measure = (policy: Scenario['policy'], over: Partial<Scenario['plan']> = {}) =>
    run({ plan: { ...plan, ...over }, ...hours, mirror: byCost, policy }).wrongPerHour;
  const ours = planned({ readsPerHour: 300, isRaised: false, everyMs: 60_000 });
  expect(measure(ours)).toBeLessThan(1.05 * measure(staticPolicy(300)));
  expect(measure(ours, { losses: 'bursts' })).toBeLessThan(measure(staticPolicy(300), { losses: 'bursts' }));
  expect(measure(oracle())).toBeLessThan(0.2 * measure(ours));
});

test('a downtime has everything read, outside the budget', () => {
  const policy = planned({ readsPerHour: 60, isRaised: false, everyMs: 60_000 });
  const once = { warmHours: 1, hours: 2, mirror: byCost, policy };
  const up = run({ ...once, plan: { ...plan, loss: 0 } });
  const down = run({ ...once, plan: { ...plan, loss: 0, downtimeMs: 60_000 } });
  expect(2 * (down.ruledPerHour - up.ruledPerHour)).toBeGreaterThan(0.9 * plan.products);
});
