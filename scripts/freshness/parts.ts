/** What the bench measures: in each scenario the policies beside each other, in the same world. */
import { RATE_CLASSES, rateClassOf } from '../../src/core/freshness/activity.ts';
import { expectedWrongAt } from '../../src/core/freshness/outlook.ts';
import { CostMirror } from './cost-mirror.ts';
import { swept } from './loss-sweep.ts';
import { planned } from './planned.ts';
import { oracle, recentFirst, roundRobin, staticPolicy } from './policies.ts';
import { RulesMirror } from './rules-mirror.ts';
import { run, type Measured, type Scenario } from './run.ts';
import { ratesOf, type StorePlan } from './store.ts';
import { staticOptimum, wrongInAnHour } from './static-optimum.ts';
import { formerPolicy } from './former-policy.ts';
import { seeded } from './random.ts';

export interface Line extends Measured {
  readonly part: string;
  readonly scenario: string;
  /** Wrong level-seconds, over those of the policy that is named. */
  readonly ratio: number | null;
  readonly against: string | null;
  readonly target: { readonly text: string; readonly isMet: boolean } | null;
}

type Say = (line: Line) => void;

interface Part {
  readonly id: string;
  readonly title: string;
  measure(length: 'quick' | 'full', say: Say): void;
}

const STORE: StorePlan = {
  products: 10_000,
  law: 'zipf',
  changesPerSecond: 2,
  loss: 0.01,
  losses: 'even',
  weather: 'calm',
  downtimeMs: 0,
  seed: 1,
};
/** RECONCILE_CRON and RECONCILE_READS_PER_HOUR by default. */
const EVERY_MS = 15 * 60_000;
const READS_PER_HOUR = 600;
/** Where budgets are compared the schedule is not what limits. */
const OFTEN_MS = 60_000;

const BY_DEFAULT = planned({ readsPerHour: READS_PER_HOUR, isRaised: true, everyMs: EVERY_MS });
const ofBudget = (readsPerHour: number) => planned({ readsPerHour, isRaised: false, everyMs: OFTEN_MS });
const byCost = (products: number): CostMirror => new CostMirror(products);
const byRules = (products: number, atMs: number): RulesMirror => new RulesMirror(products, atMs);

const NOTHING: Measured = {
  policy: '',
  readsPerHour: 0,
  ruledPerHour: 0,
  wrongPerHour: 0,
  medianMs: 0,
  p90Ms: 0,
  deliveriesPerHour: 0,
  lostPerHour: 0,
  chooseUs: 0,
};

/** Wrong level-seconds an hour that even losses leave at least, for so many reads. */
function least(plan: StorePlan, readsPerHour: number): number {
  const rates = ratesOf(plan, seeded(plan.seed));
  const countOfClass = new Float64Array(RATE_CLASSES);
  for (const rate of rates) {
    const rateClass = rateClassOf(rate / plan.changesPerSecond);
    countOfClass[rateClass] = (countOfClass[rateClass] ?? 0) + 1;
  }
  const changesPerMs = plan.changesPerSecond / 1_000;
  return 3_600 * expectedWrongAt({ countOfClass, changesPerMs, lossRate: plan.loss }, readsPerHour);
}

function most(what: string, value: number, limit: number): Line['target'] {
  return { text: `${what} ≤ ${limit}`, isMet: value <= limit };
}

const shows: Part = {
  id: 'shows',
  title: '10,000 products, 2 changes a second, the real rules: what the model is to reach',
  measure(length, say) {
    const part = 'shows';
    const hours = length === 'quick' ? { warmHours: 1, hours: 1 } : { warmHours: 6, hours: 18 };
    const measure = (plan: StorePlan, policy: Scenario['policy']): Measured =>
      run({ plan, ...hours, mirror: byRules, policy });
    const line = (scenario: string, measured: Measured, rest: Partial<Line> = {}): void =>
      say({ part, scenario, ...measured, ratio: null, against: null, target: null, ...rest });

    const none = { ...STORE, loss: 0 };
    line('no loss', measure(none, formerPolicy));
    const calm = measure(none, BY_DEFAULT);
    line('no loss', calm, { target: most('reads/h', calm.readsPerHour, 700) });

    const scenario = '1 % lost';
    const former = measure(STORE, formerPolicy);
    line(scenario, former);
    line(scenario, measure(STORE, BY_DEFAULT));
    const ours = measure(STORE, swept(BY_DEFAULT));
    line(scenario, ours, { target: most('reads/h', ours.readsPerHour, 8_000) });
    const against = former.policy;
    const transit = calm.wrongPerHour;
    for (const times of [1, 0.6]) {
      const reads = `${scenario}, ${times === 1 ? 'as many' : `${times} of the`} reads`;
      const budget = times * (former.readsPerHour - former.ruledPerHour);
      const equal = measure(STORE, ofBudget(budget));
      const ratio = equal.wrongPerHour / former.wrongPerHour;
      // No schedule leaves less that knows the rates of the changes, but not which are lost.
      const bound = transit + least(STORE, budget);
      const target = most('of the least', equal.wrongPerHour / bound, 1.1);
      line(reads, equal, { ratio, against, target });
      line(reads, { ...NOTHING, policy: 'least possible', readsPerHour: budget, wrongPerHour: bound });
    }
    if (length === 'quick') return;
    const budget = former.readsPerHour - former.ruledPerHour;
    for (const policy of [staticPolicy(budget), roundRobin(budget), recentFirst(budget), oracle()]) {
      const measured = measure(STORE, policy);
      const ratio = measured.wrongPerHour / former.wrongPerHour;
      line(`${scenario}, as many reads`, measured, { ratio, against });
    }
  },
};

const budgets: Part = {
  id: 'budgets',
  title: 'every budget beside the best static schedule for the true rates (cost model)',
  measure(length, say) {
    const hours = length === 'quick' ? { warmHours: 3, hours: 6 } : { warmHours: 16, hours: 48 };
    const readsPerHour = length === 'quick' ? [1_500, 12_000] : [600, 1_500, 3_000, 6_000, 12_000, 29_483];
    for (const losses of ['even', 'bursts'] as const) {
      for (const budget of readsPerHour) {
        const plan = { ...STORE, losses };
        const scenario = `${losses}, ${budget} reads/h`;
        const rates = ratesOf(plan, seeded(plan.seed));
        const computed = wrongInAnHour(rates, staticOptimum(rates, budget / 3_600), plan.loss);
        const best = run({ plan, ...hours, mirror: byCost, policy: staticPolicy(budget) });
        const computedRatio = best.wrongPerHour / computed;
        say({
          part: 'budgets',
          scenario,
          ...best,
          ratio: computedRatio,
          against: 'its formula',
          target: null,
        });
        const ours = run({ plan, ...hours, mirror: byCost, policy: ofBudget(budget) });
        const ratio = ours.wrongPerHour / best.wrongPerHour;
        const target = most('wrong', ratio, losses === 'even' ? 1.15 : 1);
        say({ part: 'budgets', scenario, ...ours, ratio, against: best.policy, target });
      }
    }
  },
};

const weather: Part = {
  id: 'weather',
  title: 'losses, sales, nights and downtime: by default, beside the former policy',
  measure(length, say) {
    const hours = length === 'quick' ? { warmHours: 1, hours: 3 } : { warmHours: 12, hours: 24 };
    const plans: [string, StorePlan][] = [
      ['0.1 % lost', { ...STORE, loss: 0.001 }],
      ['0.1 % in bursts', { ...STORE, loss: 0.001, losses: 'bursts' }],
      ['1 % in bursts', { ...STORE, losses: 'bursts' }],
      ['5 % lost', { ...STORE, loss: 0.05 }],
      ['5 % in bursts', { ...STORE, loss: 0.05, losses: 'bursts' }],
      ['night, 1 % lost', { ...STORE, weather: 'night' }],
      ['down a minute', { ...STORE, loss: 0.001, downtimeMs: 60_000 }],
      ['down an hour', { ...STORE, loss: 0.001, downtimeMs: 3_600_000 }],
      // A hundred times two changes a second, for an hour.
      ['sale, 1 % lost', { ...STORE, weather: 'sale' }],
    ];
    for (const [scenario, plan] of length === 'quick' ? plans.slice(1, 4) : plans) {
      beside({ part: 'weather', scenario, plan, ...hours }, say, [formerPolicy, BY_DEFAULT]);
    }
  },
};

const stores: Part = {
  id: 'stores',
  title: 'small and large stores, Zipf and uniform, 1 % lost (cost model)',
  measure(length, say) {
    const hours = length === 'quick' ? { warmHours: 1, hours: 2 } : { warmHours: 16, hours: 24 };
    const plans: [string, StorePlan, number][] = [
      ['100, Zipf', { ...STORE, products: 100, changesPerSecond: 0.02 }, 60],
      ['100, uniform', { ...STORE, products: 100, changesPerSecond: 0.02, law: 'uniform' }, 60],
      ['10,000, uniform', { ...STORE, law: 'uniform' }, 3_000],
    ];
    for (const [scenario, plan, budget] of plans) {
      const policies = [staticPolicy(budget), ofBudget(budget), roundRobin(budget), recentFirst(budget)];
      beside(
        { part: 'stores', scenario, plan, ...hours },
        say,
        length === 'quick' ? policies.slice(0, 2) : policies,
      );
    }
  },
};

const million: Part = {
  id: 'million',
  title: 'a million products: what choosing costs (cost model)',
  measure(length, say) {
    const plan = { ...STORE, products: 1_000_000, changesPerSecond: 50 };
    const hours = length === 'quick' ? 0.25 : 2;
    const policies: [string, Scenario['policy']][] = [
      ['a million, by default', BY_DEFAULT],
      ['a million, 60,000 reads/h', ofBudget(60_000)],
    ];
    for (const [scenario, policy] of length === 'quick' ? policies.slice(1) : policies) {
      const measured = run({ plan, warmHours: 0, hours, mirror: byCost, policy });
      const target = most('µs a read', measured.chooseUs, 20);
      say({ part: 'million', scenario, ...measured, ratio: null, against: null, target });
    }
  },
};

/** @param policies the first is what the others are measured against. */
function beside(
  where: Omit<Scenario, 'mirror' | 'policy'> & { readonly part: string; readonly scenario: string },
  say: Say,
  policies: readonly Scenario['policy'][],
): void {
  const { part, scenario, ...plan } = where;
  let first: Measured | null = null;
  for (const policy of policies) {
    const measured = run({ ...plan, mirror: byCost, policy });
    const ratio = first === null ? null : measured.wrongPerHour / first.wrongPerHour;
    say({ part, scenario, ...measured, ratio, against: first?.policy ?? null, target: null });
    first ??= measured;
  }
}

export const PARTS: readonly Part[] = [shows, budgets, weather, stores, million];
