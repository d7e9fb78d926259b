/** Which products are read next: the model of what may be lost, and the budget (docs/freshness.md). */
import type { Mutant } from '../mutant.ts';

const activity = 'src/core/freshness/activity.ts';
const losses = 'src/core/freshness/loss-history.ts';
const budget = 'src/core/freshness/read-budget.ts';
const plan = 'src/core/freshness/read-plan.ts';
const choice = 'src/mirror/queries/read-plan.ts';
const knowledge = 'src/mirror/queries/read-knowledge.ts';
const streams = 'src/mirror/queries/candidate-streams.ts';

export const FRESHNESS: readonly Mutant[] = [
  {
    id: 'freshness-prior-of-zero',
    breaks:
      'a product never seen to change is quiet, not dead (docs/freshness.md#how-often-a-product-changes)',
    file: activity,
    find: 'const PRIOR_CHANGES = 0.5;',
    replace: 'const PRIOR_CHANGES = 0;',
    tests: ['test/core/freshness/activity.test.ts'],
  },
  {
    id: 'freshness-activity-kept',
    breaks: 'what a product did long ago is forgotten (docs/freshness.md#how-often-a-product-changes)',
    file: activity,
    find: 'elapsedMs <= 0 ? count',
    replace: 'elapsedMs >= 0 ? count',
    tests: ['test/core/freshness/activity.test.ts'],
  },
  {
    id: 'freshness-no-loss-expected',
    breaks: 'before a loss is proven some are expected (docs/freshness.md#how-much-was-lost)',
    file: losses,
    find: 'const PRIOR_LOSS_RATE = 1e-4;',
    replace: 'const PRIOR_LOSS_RATE = 0;',
    tests: ['test/core/freshness/loss-history.test.ts'],
  },
  {
    id: 'freshness-losses-kept',
    breaks: 'proven losses are forgotten in calm (docs/freshness.md#how-much-was-lost)',
    file: losses,
    find: 'losses = losses * RATE_FADES +',
    replace: 'losses = losses +',
    tests: ['test/core/freshness/loss-history.test.ts'],
  },
  {
    id: 'freshness-no-bursts',
    breaks: 'a group of losses is found in its minute (docs/freshness.md#how-much-was-lost)',
    file: losses,
    find: 'const MINUTE_SCALE = 0.5;',
    replace: 'const MINUTE_SCALE = 50;',
    tests: ['test/core/freshness/loss-history.test.ts'],
  },
  {
    id: 'freshness-silence-is-calm',
    breaks: 'fewer changes than usual arrive where many are lost (docs/freshness.md#how-much-was-lost)',
    file: losses,
    find: 'Math.max(received, traffic);',
    replace: 'received;',
    tests: ['test/core/freshness/loss-history.test.ts'],
  },
  {
    id: 'freshness-starvation',
    breaks: 'no product goes unread for longer than it may (docs/freshness.md#the-longest-time)',
    file: budget,
    find: '(2 * products *',
    replace: '(0 * products *',
    tests: ['test/core/freshness/read-budget.test.ts'],
  },
  {
    id: 'freshness-budget-without-bound',
    breaks: 'proofs raise the budget to twelve times at most (docs/freshness.md#the-budget)',
    file: budget,
    find: 'Math.min(MOST_TIMES, 1 + provenInLastHour * A_LOSS)',
    replace: '(1 + provenInLastHour * A_LOSS)',
    tests: ['test/core/freshness/read-budget.test.ts'],
  },
  {
    id: 'freshness-proofs-raise-nothing',
    breaks: 'a proven loss raises the budget for a while (docs/freshness.md#the-budget)',
    file: budget,
    find: '1 + provenInLastHour * A_LOSS',
    replace: '1 + 0 * provenInLastHour * A_LOSS',
    tests: ['test/core/freshness/read-budget.test.ts'],
  },
  {
    id: 'freshness-budget-ignored',
    breaks: 'reads keep within the budget (docs/freshness.md#the-budget)',
    file: plan,
    find: 'while (chosen.length < limit) {',
    replace: 'while (chosen.length < 8 * limit) {',
    tests: ['test/core/freshness/read-plan.test.ts'],
  },
  {
    id: 'freshness-worthless-reads',
    breaks: 'a read that saves next to nothing is not made (docs/freshness.md#the-budget)',
    file: plan,
    find: 'first === undefined || first.savesMs < leastMs',
    replace: 'first === undefined',
    tests: ['test/core/freshness/read-plan.test.ts'],
  },
  {
    id: 'freshness-delivery-verifies-nothing',
    breaks: 'a change that follows makes its level certain (docs/freshness.md#what-a-read-is-worth)',
    file: plan,
    find: 'share * lostSince(losses, Math.max(changedAtMs, readAtMs))',
    replace: 'share * lostSince(losses, readAtMs)',
    tests: ['test/core/freshness/read-plan.test.ts'],
  },
  {
    id: 'freshness-wrong-place-blocks',
    breaks: 'what stands wrong in its class hides none behind it (docs/freshness.md#the-order-of-reads)',
    file: plan,
    find: '        misplaced.push(candidate);\n        continue;',
    replace: '        misplaced.push(candidate);\n        return;',
    tests: ['test/core/freshness/read-plan.test.ts'],
  },
  {
    id: 'freshness-service-budget-ignored',
    breaks: 'the schedule keeps within the budget (docs/freshness.md#the-budget)',
    file: choice,
    find: 'Math.floor(readsIn(elapsedMs, perHour)) - overdue.length',
    replace: '8 * Math.floor(readsIn(elapsedMs, perHour))',
    tests: ['test/mirror/queries/read-plan.test.ts'],
  },
  {
    id: 'freshness-service-starvation',
    breaks:
      'the schedule lets no product go unread for longer than it may (docs/freshness.md#the-longest-time)',
    file: choice,
    find: 'overdueReads(store.products, elapsedMs, longestMs));',
    replace: '0);',
    tests: ['test/mirror/queries/read-plan.test.ts'],
  },
  {
    id: 'freshness-asked-twice',
    breaks: 'what is requested already is not chosen again (docs/freshness.md#in-the-mirror)',
    file: streams,
    find: 'SELECT 1 FROM read_requests WHERE product_id = ?',
    replace: 'SELECT 1 FROM read_requests WHERE product_id = ? AND 0',
    tests: ['test/mirror/queries/read-plan.test.ts'],
  },
  {
    id: 'freshness-read-not-noted',
    breaks: 'a read makes a product certain (docs/freshness.md#in-the-mirror)',
    file: knowledge,
    find: 'noteChanges(db, known, nowMs) && noteReads(db, known, nowMs)',
    replace: 'noteChanges(db, known, nowMs)',
    tests: ['test/mirror/queries/read-plan.test.ts'],
  },
  {
    id: 'freshness-on-its-way-is-lost',
    breaks: 'a detail that was ahead of a delivery proves no loss (docs/freshness.md#in-the-mirror)',
    file: knowledge,
    find: "(reason === 'gap' || reason === 'lost_tail') && !isOnItsWay",
    replace: "(reason === 'gap' || reason === 'lost_tail')",
    tests: ['test/mirror/queries/read-plan.test.ts'],
  },
  {
    id: 'freshness-drift-proves-nothing',
    breaks: 'a lost last change that a read finds is a proof (docs/freshness.md#in-the-mirror)',
    file: knowledge,
    find: 'if (isLoss) known.losses.proved',
    replace: 'if (!isLoss) known.losses.proved',
    tests: ['test/mirror/queries/read-plan.test.ts'],
  },
];
