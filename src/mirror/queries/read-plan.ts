/** Which products the schedule reads next, and what it is expected to leave wrong (docs/freshness.md#in-the-mirror). */
import { rateClassOf, shareOf, type StoreActivity } from '../../core/freshness/activity.ts';
import { expectedWrongAt } from '../../core/freshness/outlook.ts';
import { overdueReads, readsIn, readsPerHour } from '../../core/freshness/read-budget.ts';
import { chooseReads, LEAST_MS } from '../../core/freshness/read-plan.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { CandidateStreams } from './candidate-streams.ts';
import { activityOf, countedOf, knowledgeOf, put, type ReadKnowledge } from './read-knowledge.ts';

/** What the schedule is expected to leave. */
export interface ReadOutlook {
  /** Of the changes to come. */
  readonly loss_rate: number;
  /** What the schedule may ask for at present. */
  readonly reads_per_hour: number;
  /** Stock levels that are expected to be wrong at a time, with that budget. */
  readonly expected_wrong: number;
  /** The same for other budgets. */
  readonly curve: readonly { readonly reads_per_hour: number; readonly expected_wrong: number }[];
}

const outlooks = new WeakMap<Db, ReadOutlook>();

interface PlanArgs {
  readonly nowMs: number;
  /** Since reads were last chosen. */
  readonly elapsedMs: number;
  /** The budget while nothing is proven lost. */
  readonly readsPerHour: number;
  /** No product goes unread for longer. */
  readonly longestMs: number;
}

const OVERDUE = `
  SELECT product_id FROM products p
  WHERE gone_at_ms IS NULL AND read_at_ms < ?
    AND NOT EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = p.product_id)
  ORDER BY read_at_ms LIMIT ?`;

/** The products to read now, without those that are requested already. Call `noteActivity` first. */
export function planReads(db: Db, args: PlanArgs): string[] {
  const { nowMs, elapsedMs, longestMs } = args;
  const known = knowledgeOf(db, nowMs);
  const store = activityOf(db, known, nowMs);
  const losses = known.losses.at(nowMs);
  const perHour = readsPerHour(args.readsPerHour, losses.provenInLastHour);
  const overdue = prepared<[number, number], string>(db, OVERDUE)
    .pluck()
    .all(nowMs - longestMs / 2, overdueReads(store.products, elapsedMs, longestMs));
  const limit = Math.max(0, Math.floor(readsIn(elapsedMs, perHour)) - overdue.length);
  const { chosen, misplaced } = CandidateStreams.during(
    { db, known, quietClass: rateClassOf(shareOf(0, store)) },
    (streams) => chooseReads(streams, { limit, leastMs: LEAST_MS, losses, store }),
  );
  known.tables.transaction(() => {
    for (const candidate of misplaced) {
      if (countedOf(known, candidate.productId) !== undefined) put(known, candidate, nowMs, store);
    }
  })();
  outlooks.set(db, outlookOf(known, store, { ...losses, perHour, atRest: args.readsPerHour }));
  return [...new Set([...overdue, ...chosen.map(({ productId }) => productId)])];
}

/** What was last chosen for; null: nothing yet. */
export function readOutlook(db: Db): ReadOutlook | null {
  return outlooks.get(db) ?? null;
}

const CURVE = [0, 1, 2, 5, 10, 20, 50];

function outlookOf(
  { countOfClass }: ReadKnowledge,
  store: StoreActivity,
  now: { lossRate: number; changesPerMs: number; perHour: number; atRest: number },
): ReadOutlook {
  const quiet = rateClassOf(shareOf(0, store));
  const counted = countOfClass.reduce((sum, one) => sum + one, 0);
  const all = countOfClass.map(
    (count, i) => count + (i === quiet ? Math.max(0, store.products - counted) : 0),
  );
  const wrongAt = (reads: number): number =>
    expectedWrongAt({ countOfClass: all, changesPerMs: now.changesPerMs, lossRate: now.lossRate }, reads);
  return {
    loss_rate: now.lossRate,
    reads_per_hour: Math.round(now.perHour),
    expected_wrong: wrongAt(now.perHour),
    curve: CURVE.map((times) => times * Math.max(1, now.atRest)).map((reads) => ({
      reads_per_hour: reads,
      expected_wrong: wrongAt(reads),
    })),
  };
}
