/**
 * What must be read next (docs/architecture.md#queue): re-read requests, due gaps, products not read
 * since a barrier.
 *
 * They are asked one after the other, the most urgent first and no further than needed. One view of all would put every
 * unread product in order for each look: with a hundred thousand of them 140 ms instead of 0.1.
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

/** Not under way, and not waiting because of a failed attempt. */
const free = (table: string): string => `
  ${table}.product_id NOT IN (SELECT value FROM json_each(@exclude))
  AND NOT EXISTS (
    SELECT 1 FROM read_failures f WHERE f.product_id = ${table}.product_id AND f.next_at_ms > @nowMs
  )`;

const REQUESTED = `
  SELECT product_id AS productId, reason, priority FROM read_requests q
  WHERE not_before_ms <= @nowMs AND ${free('q')}
  ORDER BY priority, first_made_at_ms LIMIT @limit`;

// One row for each gap, the longest due first: only the first few of many are looked at.
const GAPS = `
  SELECT v.product_id AS productId, 'gap' AS reason, ${PRIORITY.gap} AS priority
  FROM gaps g CROSS JOIN variants v ON v.variant_id = g.variant_id
  WHERE g.due_at_ms <= @nowMs AND v.product_id IS NOT NULL AND ${free('v')}
  ORDER BY g.due_at_ms`;

/** The end of the feed, which shows the products that changed last. */
const RECENT_CHANGES = 5_000;
const RECENT_START = `SELECT seq FROM changes ORDER BY seq DESC LIMIT 1 OFFSET ${RECENT_CHANGES}`;

const UNTRUSTED_RECENT = `
  SELECT v.product_id AS productId, 'downtime' AS reason, ${PRIORITY.downtime} AS priority
  FROM changes c
  CROSS JOIN variants v ON v.variant_id = c.variant_id
  CROSS JOIN products p ON p.product_id = v.product_id
  WHERE c.seq > @afterSeq AND p.gone_at_ms IS NULL AND p.read_at_ms < @barrierMs`;
const UNTRUSTED_RECENT_FREE = `${UNTRUSTED_RECENT} AND ${free('p')} ORDER BY c.seq DESC`;
const ANY_UNTRUSTED_RECENT = `${UNTRUSTED_RECENT} LIMIT 1`;

const UNREAD = `
  SELECT product_id AS productId, @reason AS reason, @priority AS priority FROM products q
  WHERE gone_at_ms IS NULL AND read_at_ms < @barrierMs AND ${free('q')}
  ORDER BY read_at_ms LIMIT @limit`;

interface Barrier {
  readonly barrierMs: number;
  readonly kind: RunKind;
}

/** Most urgent first; at most `limit`, each product once. */
export function dueReads(db: Db, args: DueReadsArgs): DueRead[] {
  const { nowMs, limit } = args;
  const bound = { nowMs, limit, exclude: JSON.stringify(args.exclude) };
  const found = prepared<object, DueRead>(db, REQUESTED).all(bound);
  // Requests less urgent than enough others are not even looked for: the search is expensive when there are many.
  const isWanted = (priority: number): boolean =>
    found.filter((read) => read.priority <= priority).length < limit;
  if (isWanted(PRIORITY.gap)) {
    const { nowMs, exclude } = bound;
    found.push(...firstOfEach(prepared<object, DueRead>(db, GAPS).iterate({ nowMs, exclude }), limit));
  }
  const trustedAfterMs =
    prepared<[], number>(db, 'SELECT trusted_after_ms FROM mirror_state').pluck().get() ?? 0;
  if (trustedAfterMs <= nowMs && isWanted(PRIORITY.downtime)) {
    const downtime = { ...bound, barrierMs: trustedAfterMs };
    const unread = prepared<object, DueRead>(db, UNREAD).all({
      ...downtime,
      reason: 'downtime',
      priority: PRIORITY.downtime,
    });
    // The search through the feed is the expensive one: only while something is left to find.
    if (unread.length > 0) found.push(...untrustedRecent(db, downtime));
    found.push(...unread);
  }
  for (const run of catalogueBarriers(db)) {
    if (run.barrierMs > nowMs) continue;
    const unread = { ...bound, barrierMs: run.barrierMs, reason: run.kind, priority: RUN_PRIORITY[run.kind] };
    found.push(...prepared<object, DueRead>(db, UNREAD).all(unread));
  }
  return firstOfEach(
    found.toSorted((a, b) => a.priority - b.priority),
    limit,
  );
}

/**
 * Up to where in the feed every product is known to be read since the barrier: this part is not searched again and
 * again.
 */
const searched = new WeakMap<Db, { readonly barrierMs: number; readonly seq: number }>();

function untrustedRecent(
  db: Db,
  bound: {
    readonly barrierMs: number;
    readonly nowMs: number;
    readonly exclude: string;
    readonly limit: number;
  },
): DueRead[] {
  const { barrierMs, nowMs, exclude, limit } = bound;
  const before = searched.get(db);
  const start = prepared<[], number>(db, RECENT_START).pluck().get() ?? -1;
  const afterSeq = before?.barrierMs === barrierMs ? Math.max(before.seq, start) : start;
  const search = { afterSeq, barrierMs };
  const recent = prepared<object, DueRead>(db, UNTRUSTED_RECENT_FREE);
  const found = firstOfEach(recent.iterate({ ...search, nowMs, exclude }), limit);
  if (found.length === 0 && prepared<object>(db, ANY_UNTRUSTED_RECENT).get(search) === undefined) {
    const seq = prepared<[], number | null>(db, 'SELECT max(seq) FROM changes').pluck().get();
    searched.set(db, { barrierMs, seq: seq ?? -1 });
  }
  return found;
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

/** Products read longest ago, for the share that no queue may take; none that was read after `beforeMs`. */
export function oldestVerified(
  db: Db,
  args: DueReadsArgs & {
    readonly beforeMs: number;
  },
): string[] {
  return prepared<object, DueRead>(db, UNREAD)
    .all({
      nowMs: args.nowMs,
      barrierMs: args.beforeMs,
      exclude: JSON.stringify(args.exclude),
      limit: args.limit,
      reason: 'stale',
      priority: PRIORITY.stale,
    })
    .map(({ productId }) => productId);
}

/** Both, as of one moment: ids only. */
export function nextReads(
  db: Db,
  args: DueReadsArgs & { readonly oldestBeforeMs: number; readonly oldestLimit: number },
): { readonly due: string[]; readonly oldest: string[] } {
  return db.transaction(() => {
    const due = dueReads(db, args).map(({ productId }) => productId);
    // The share is one of what is read: while nothing is due, there is none.
    if (due.length === 0) return { due, oldest: [] };
    const { nowMs, exclude, oldestBeforeMs: beforeMs, oldestLimit: limit } = args;
    return { due, oldest: oldestVerified(db, { nowMs, exclude, beforeMs, limit }) };
  })();
}

/** What becomes due by the clock: variants to look up, and postponed loss sweeps and bundle reads. */
export function dueChores(
  db: Db,
  args: { readonly nowMs: number },
): {
  readonly lookups: string[];
  readonly bundles: boolean;
  readonly lossSweep: boolean;
} {
  const state = prepared<[], { bundlesDueAtMs: number | null; lossSweepDueAtMs: number | null }>(
    db,
    'SELECT bundles_due_at_ms AS bundlesDueAtMs, loss_sweep_due_at_ms AS lossSweepDueAtMs FROM mirror_state',
  ).get();
  const isDue = (atMs: number | null | undefined): boolean =>
    atMs !== null && atMs !== undefined && atMs <= args.nowMs;
  return {
    lookups: prepared<[number], string>(
      db,
      'SELECT variant_id FROM variants WHERE lookup_at_ms <= ? ORDER BY lookup_at_ms',
    )
      .pluck()
      .all(args.nowMs),
    bundles: isDue(state?.bundlesDueAtMs),
    lossSweep: isDue(state?.lossSweepDueAtMs),
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
