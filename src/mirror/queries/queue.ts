/**
 * What must be read next (docs/architecture.md#queue): re-read requests, due gaps, products not read since a barrier.
 *
 * One query per source, each in the order of an index and no further than needed. One view of all of them would sort every
 * unread product at each look: with 100,000 products 280 ms instead of 0.1.
 */
import { PRIORITY } from '../../core/reasons.ts';
import { RUN_PRIORITY, type RunKind } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

interface DueRead {
  readonly productId: string;
  readonly reason: string;
  readonly priority: number;
}

interface DueReadsArgs {
  readonly nowMs: number;
  readonly limit: number;
  /** Products whose read is under way. */
  readonly exclude: readonly string[];
}

/** A read that failed is tried again after all those of its priority that were not tried. */
type Attempt = 'untried' | 'retry';

const free = (table: string, attempt: Attempt): string => `
  ${table}.product_id NOT IN (SELECT value FROM json_each(@exclude))
  AND ${attempt === 'untried' ? 'NOT EXISTS' : 'EXISTS'} (
    SELECT 1 FROM read_failures f
    WHERE f.product_id = ${table}.product_id${attempt === 'untried' ? '' : ' AND f.next_at_ms <= @nowMs'}
  )`;

/** Retries are found from the failures, which are few, or nothing can be read at all. */
const from = (table: string, attempt: Attempt): string =>
  attempt === 'untried'
    ? `${table} q`
    : `read_failures r CROSS JOIN ${table} q ON q.product_id = r.product_id`;

const requested = (attempt: Attempt): string => `
  SELECT q.product_id AS productId, reason, priority FROM ${from('read_requests', attempt)}
  WHERE not_before_ms <= @nowMs AND ${free('q', attempt)}
  ORDER BY priority, first_made_at_ms LIMIT @limit`;

// One row for each gap, the longest due first: only the first few of many are looked at.
const gaps = (attempt: Attempt): string => `
  SELECT v.product_id AS productId, 'gap' AS reason, ${PRIORITY.gap} AS priority
  FROM gaps g CROSS JOIN variants v ON v.variant_id = g.variant_id
  WHERE g.due_at_ms <= @nowMs AND v.product_id IS NOT NULL AND ${free('v', attempt)}
  ORDER BY g.due_at_ms`;

const unread = (attempt: Attempt): string => `
  SELECT q.product_id AS productId, @reason AS reason, @priority AS priority FROM ${from('products', attempt)}
  WHERE gone_at_ms IS NULL AND read_at_ms < @barrierMs AND ${free('q', attempt)}
  ORDER BY read_at_ms LIMIT @limit`;

// The most recently active first. Those active since the barrier have their gaps read, and come last.
const untrusted = (attempt: Attempt): string => `
  SELECT q.product_id AS productId, @reason AS reason, @priority AS priority FROM ${from('products', attempt)}
  WHERE gone_at_ms IS NULL AND evidence_at_ms < @barrierMs AND ${free('q', attempt)}
  ORDER BY evidence_at_ms DESC LIMIT @limit`;

/** Most urgent first; at most `limit`, each product once. */
export function dueReads(db: Db, args: DueReadsArgs): DueRead[] {
  const untried = readsOf(db, args, 'untried');
  const hasFailures = prepared<[]>(db, 'SELECT 1 FROM read_failures LIMIT 1').get() !== undefined;
  const found = hasFailures ? [...untried, ...readsOf(db, args, 'retry')] : untried;
  return firstOfEach(
    found.toSorted((a, b) => a.priority - b.priority),
    args.limit,
  );
}

function readsOf(db: Db, { nowMs, limit, exclude }: DueReadsArgs, attempt: Attempt): DueRead[] {
  const common = { nowMs, exclude: JSON.stringify(exclude) };
  const bound = { ...common, limit };
  const found = prepared<object, DueRead>(db, requested(attempt)).all(bound);
  // Requests less urgent than enough others are not even looked for: the search is expensive when there are many.
  const isWanted = (priority: number): boolean =>
    found.filter((read) => read.priority <= priority).length < limit;
  if (isWanted(PRIORITY.gap)) {
    found.push(...firstOfEach(prepared<object, DueRead>(db, gaps(attempt)).iterate(common), limit));
  }
  const trustedAfterMs =
    prepared<[], number>(db, 'SELECT trusted_after_ms FROM mirror_state').pluck().get() ?? 0;
  if (trustedAfterMs <= nowMs && isWanted(PRIORITY.downtime)) {
    const downtime = {
      ...bound,
      barrierMs: trustedAfterMs,
      reason: 'downtime',
      priority: PRIORITY.downtime,
    };
    found.push(...prepared<object, DueRead>(db, untrusted(attempt)).all(downtime));
    found.push(...prepared<object, DueRead>(db, unread(attempt)).all(downtime));
  }
  for (const { kind, barrierMs } of catalogueBarriers(db)) {
    if (barrierMs > nowMs) continue;
    const ofRun = { ...bound, barrierMs, reason: kind, priority: RUN_PRIORITY[kind] };
    found.push(...prepared<object, DueRead>(db, unread(attempt)).all(ofRun));
  }
  return found;
}

interface Barrier {
  readonly barrierMs: number;
  readonly kind: RunKind;
}

function catalogueBarriers(db: Db): Barrier[] {
  return prepared<[], Barrier>(
    db,
    `SELECT read_after_ms AS barrierMs, kind FROM runs WHERE state = 'running' AND product_ids_json IS NULL`,
  ).all();
}

/** @param reads the most urgent first; only as many are looked at as needed. */
function firstOfEach(reads: Iterable<DueRead>, limit: number): DueRead[] {
  const first = new Map<string, DueRead>();
  for (const read of reads) {
    if (first.size === limit) break;
    if (!first.has(read.productId)) first.set(read.productId, read);
  }
  return [...first.values()];
}

/**
 * The next reads; ids only.
 *
 * @param fairBeforeMs not null: the first of them is the product that was read longest ago, if that is before it.
 */
export function nextReads(db: Db, args: DueReadsArgs & { readonly fairBeforeMs: number | null }): string[] {
  return db.transaction(() => {
    const { nowMs, limit, fairBeforeMs } = args;
    const due = dueReads(db, args).map(({ productId }) => productId);
    if (fairBeforeMs === null || due.length < limit) return due;
    const fair = { nowMs, exclude: JSON.stringify(args.exclude), barrierMs: fairBeforeMs, limit: 1 };
    const oldest = prepared<object, DueRead>(db, unread('untried')).get({
      ...fair,
      reason: null,
      priority: null,
    });
    return oldest === undefined ? due : [...new Set([oldest.productId, ...due])].slice(0, limit);
  })();
}

/** Live products with the oldest evidence, that is the last read or delivery, without those requested already. */
export function oldestEvidence(db: Db, { limit }: { readonly limit: number }): string[] {
  return prepared<[number], string>(
    db,
    `SELECT product_id FROM products p
     WHERE gone_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM read_requests q WHERE q.product_id = p.product_id)
     ORDER BY evidence_at_ms LIMIT ?`,
  )
    .pluck()
    .all(limit);
}

/** What becomes due by the clock: variants to look up, and postponed bundle reads. */
export function dueChores(
  db: Db,
  args: { readonly nowMs: number },
): {
  readonly lookups: string[];
  readonly bundles: boolean;
} {
  const bundlesDueAtMs = prepared<[], number | null>(db, 'SELECT bundles_due_at_ms FROM mirror_state')
    .pluck()
    .get();
  return {
    lookups: prepared<[number], string>(
      db,
      'SELECT variant_id FROM variants WHERE lookup_at_ms <= ? ORDER BY lookup_at_ms',
    )
      .pluck()
      .all(args.nowMs),
    bundles: typeof bundlesDueAtMs === 'number' && bundlesDueAtMs <= args.nowMs,
  };
}

/** Which of these products the mirror has not read since `sinceMs`. */
export function unreadSince(
  db: Db,
  args: { readonly productIds: readonly string[]; readonly sinceMs: number },
): string[] {
  return prepared<[string, number], string>(
    db,
    `SELECT l.value FROM json_each(?) l
       LEFT JOIN products p ON p.product_id = l.value
       WHERE p.product_id IS NULL OR p.read_at_ms < ?`,
  )
    .pluck()
    .all(JSON.stringify(args.productIds), args.sinceMs);
}

/** Which of these ids no live product has. */
export function notMirrored(db: Db, args: { readonly productIds: readonly string[] }): string[] {
  return prepared<[string], string>(
    db,
    `SELECT l.value FROM json_each(?) l
       LEFT JOIN products p ON p.product_id = l.value AND p.gone_at_ms IS NULL
       WHERE p.product_id IS NULL`,
  )
    .pluck()
    .all(JSON.stringify(args.productIds));
}
