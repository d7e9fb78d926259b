/**
 * Re-read requests, gaps and loss sweeps: what raises them, and what meets them
 * (docs/architecture.md#re-read-requests).
 */
import type { Mutant } from '../mutant.ts';

const delivery = 'src/core/apply/apply-delivery.ts';

export const READ_REQUEST: readonly Mutant[] = [
  {
    id: 'request-cleared-whatever-s0',
    breaks:
      'only a read sent after the re-read request was recorded meets it (docs/architecture.md#re-read-requests: s0)',
    file: 'src/core/merge/read-request.ts',
    find: 'return request.madeSeq <= read.s0 && request.madeAtMs',
    replace: 'return request.madeAtMs',
    tests: ['test/core/merge/read-request.test.ts'],
  },
  {
    id: 'request-cleared-within-lag',
    breaks:
      'only a read sent 2 s after the re-read request meets it (docs/architecture.md#re-read-requests: lagging replicas)',
    file: 'src/core/merge/read-request.ts',
    find: 'return request.madeSeq <= read.s0 && request.madeAtMs + REPLICA_LAG_MS <= read.sentAtMs;',
    replace: 'return request.madeSeq <= read.s0;',
  },
  {
    id: 'request-not-renewed',
    breaks:
      'a later re-read request for the same product needs a later read (docs/architecture.md#re-read-requests)',
    file: 'src/core/merge/read-request.ts',
    find: `    madeSeq: Math.max(added.madeSeq, standing.madeSeq),
    madeAtMs: Math.max(added.madeAtMs, standing.madeAtMs),`,
    replace: `    madeSeq: standing.madeSeq,
    madeAtMs: standing.madeAtMs,`,
  },
  {
    id: 'suspicion-forgotten-by-a-wish',
    breaks:
      'a read merely wanted does not take the suspicion away (docs/reading-the-mirror.md#views, suspect)',
    file: 'src/core/merge/read-request.ts',
    find: 'isSuspect: isSuspect || standing.isSuspect,',
    replace: 'isSuspect: isSuspect,',
    tests: ['test/core/merge/read-request.test.ts'],
  },
  {
    id: 'unmapped-not-looked-up',
    breaks: 'a variant of unknown product is looked up (docs/architecture.md#changes, rule 1)',
    file: 'src/core/apply/unit-of-work.ts',
    find: 'return { ...touched, lookupAtMs: this.entry.atMs };',
    replace: 'return touched;',
  },
  {
    id: 'derived-no-request',
    breaks:
      'pulled, bundle and assembled variants are read after a change to them (docs/architecture.md#totals)',
    file: delivery,
    find: "if (variant.kind !== 'own' && variant.productId !== null)",
    replace: "if (variant.kind === 'own' && variant.productId === '')",
    first: 'simulation',
    tests: ['test/core/apply/total.test.ts'],
  },
  {
    id: 'bundles-not-read',
    breaks: 'bundles are read when a component changes (docs/architecture.md#totals)',
    file: 'src/core/apply/apply-total.ts',
    find: 'if (variant.bundledByCount === 0 ||',
    replace: 'if (variant.bundledByCount >= 0 ||',
    first: 'simulation',
  },
  {
    id: 'bundles-forgotten-when-due',
    breaks: 'bundles are read when their time has come (docs/architecture.md#totals)',
    file: 'src/core/apply/apply-entry.ts',
    find: "for (const productId of work.tables.bundleProducts()) work.requestRead(productId, 'bundle');",
    replace: '',
    first: 'simulation',
  },
  {
    id: 'dead-letter-no-request',
    breaks: 'what a dead letter names is re-read (docs/http-api.md#public-listener, dead letters)',
    file: delivery,
    find: "tables.putVariant(work.requestVariantRead(variant, 'quarantine'));",
    replace: 'tables.putVariant(variant);',
    first: 'simulation',
  },
  {
    id: 'unreadable-body-no-loss-sweep',
    breaks:
      'an unreadable body starts a loss sweep (docs/http-api.md#public-listener, dead letters; docs/architecture.md#loss-sweeps)',
    file: delivery,
    find: 'work.state = { ...work.state, lossSweepDueAtMs };',
    replace: 'work.state = { ...work.state, lossSweepSentAtMs: lossSweepDueAtMs };',
    first: 'simulation',
  },
  {
    id: 'proven-loss-no-loss-sweep',
    breaks:
      'a proven loss sends what moves to be read: its delivery carried other items (docs/architecture.md#loss-sweeps)',
    file: 'src/core/apply/apply-read.ts',
    find: '  work.answerLoss({',
    replace: '  if (read.s0 < 0) work.answerLoss({',
    first: 'simulation',
  },
  {
    id: 'many-losses-without-loss-sweep',
    breaks: 'a loss sweep covers only the losses before it (docs/architecture.md#loss-sweeps)',
    file: 'src/core/apply/unit-of-work.ts',
    find: '    if (opened.seq <= lossSweptSeq && opened.atMs <= lossSweptAtMs) return;',
    replace: '    if (opened.atMs <= lossSweptAtMs + 60_000) return;',
    first: 'simulation',
  },
  {
    id: 'gap-never-due',
    breaks: 'a gap is read when its grace is over (docs/architecture.md#gaps)',
    file: 'src/mirror/queries/queue.ts',
    find: 'WHERE g.due_at_ms <= @nowMs AND v.product_id IS NOT NULL',
    replace: 'WHERE g.due_at_ms <= @nowMs AND v.product_id IS NULL',
    first: 'simulation',
    tests: ['test/mirror/queries/due-reads.test.ts'],
  },
  {
    id: 'gap-closed-by-stranger',
    breaks: 'only the delivery that fits both ends closes a gap (docs/architecture.md#gaps)',
    file: 'src/core/merge/gap.ts',
    find: "if (fromStart && toEnd) return 'closed';",
    replace: "if (fromStart || toEnd) return 'closed';",
    tests: ['test/core/merge/gap.test.ts'],
  },
  {
    id: 'gap-closed-by-any-straggler',
    breaks: 'a change that touches neither end leaves the gap open (docs/architecture.md#gaps)',
    file: 'src/core/merge/gap.ts',
    find: 'if (change.old === change.new || (!fromStart && !toEnd)) return null;',
    replace: "if (change.old === change.new || (!fromStart && !toEnd)) return 'closed';",
    tests: ['test/core/merge/gap.test.ts'],
  },
  {
    id: 'gap-cleared-early',
    breaks: 'a gap ends only by a read that was sent late enough after it (docs/architecture.md#gaps)',
    file: 'src/core/apply/apply-read.ts',
    find: '.filter((gap) => isMet({ madeSeq: gap.openedSeq, madeAtMs: gap.openedAtMs }, read));',
    replace:
      '.filter((gap) => isMet({ madeSeq: gap.openedSeq, madeAtMs: gap.openedAtMs }, read) || read.s0 >= 0);',
    tests: ['test/core/apply/gap.test.ts'],
  },
  {
    id: 'second-gap-of-a-body-forgotten',
    breaks: 'one body that breaks the chain twice asks for a read (docs/architecture.md#gaps)',
    file: delivery,
    find: '.some(({ openedSeq }) => openedSeq === entry.seq)) return true;',
    replace: '.some(({ openedSeq }) => openedSeq === entry.seq)) return false;',
    tests: ['test/core/apply/gap.test.ts'],
  },
  {
    id: 'straggler-without-gap-no-request',
    breaks:
      'a straggler that no gap waited for asks for a read, unless the read saw it (docs/architecture.md#convergence)',
    file: delivery,
    find: '  return change.new !== level.qty || change.updateTimeMs >= level.readLoMs;',
    replace: '  return false;',
    tests: ['test/core/apply/gap.test.ts'],
  },
  {
    id: 'straggler-below-the-read-ignored',
    breaks:
      'a straggler that says otherwise than the level asks for a read: the clock may have been set back (docs/architecture.md#gaps)',
    file: delivery,
    find: '  return change.new !== level.qty || change.updateTimeMs >= level.readLoMs;',
    replace: '  return change.updateTimeMs >= level.readLoMs;',
    first: 'simulation',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'change-in-the-total-no-request',
    breaks: 'a change that a total without warehouses may hold asks for a read (docs/architecture.md#totals)',
    file: delivery,
    find: '(outcome.applied && mayBeInTotal(',
    replace: '(outcome.applied && entry.seq < 0 && mayBeInTotal(',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'unexplained-break-no-request',
    breaks: 'how much of a break a total holds already is unknown (docs/architecture.md#totals)',
    file: delivery,
    find: "if (isOpen && (gap !== null || branch === '3 duplicate')) requestRead = true;",
    replace: "if (isOpen && branch === '3 duplicate') requestRead = true;",
    tests: ['test/core/apply/total.test.ts'],
  },
  {
    id: 'unexplained-duplicate-no-request',
    breaks:
      'what was told before may be another change of its instant (docs/architecture.md#changes, rule 3)',
    file: delivery,
    find: "if (isOpen && (gap !== null || branch === '3 duplicate')) requestRead = true;",
    replace: 'if (isOpen && gap !== null) requestRead = true;',
    tests: ['test/core/apply/total.test.ts'],
  },
  {
    id: 'pulled-order-forgotten',
    breaks:
      'a total does not settle which of two values a stock level has (docs/architecture.md#totals, docs/architecture.md#changes, rule 3)',
    file: 'src/core/apply/unlisted-levels.ts',
    find: '(isToldInTotal(variant) && requestRead && ORDER_UNCERTAIN',
    replace: '(variant.bundledByCount < 0 && requestRead && ORDER_UNCERTAIN',
    tests: ['test/mirror/queries/suspicion.test.ts'],
  },
];
