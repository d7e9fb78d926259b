import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CHANGE_BRANCHES } from '../../src/core/merge/change-outcome.ts';
import { LEVEL_BRANCHES } from '../../src/core/merge/merge-read.ts';
import { ANYTHING, PROPERTIES } from './histories.ts';
import { plans } from './plans.ts';
import { SimulatedService, type Plan, type Watch } from './simulated-service.ts';

test.each(PROPERTIES)('$name', ({ check }) => {
  check({ numRuns: 200 });
});

test('the histories drawn here reach every branch', () => {
  const reached = new Set<string>(['gone, shown again']);
  const watch: Watch = (_service, _nowMs, facts) => {
    for (const fact of facts) if (fact.kind === 'change' || fact.kind === 'level') reached.add(fact.branch);
  };
  const holds = (plan: Plan): void => {
    new SimulatedService(plan, watch).run().readAll().drain(20);
  };
  const branches = new Set<string>([...CHANGE_BRANCHES, ...LEVEL_BRANCHES]);
  // Fixed seeds: a rare branch must not be missed at random.
  for (let seed = 1; seed <= 30 && reached.size < branches.size; seed += 1) {
    fc.assert(fc.property(plans(ANYTHING), holds), { numRuns: 1_000, seed });
  }
  expect(reached).toEqual(branches);
});
