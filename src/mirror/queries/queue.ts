/** The next reads (docs/architecture.md#queue). A single view would sort every unread product: 280 ms, not 0.1. */
import { EARLIEST_MS } from '../../core/limits.ts';
import { PRIORITY } from '../../core/reasons.ts';
import { RUN_PRIORITY, type RunKind } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import { column, idsAmong, prepared } from '../../sqlite/prepared.ts';

interface DueRead {
  readonly productId: string;
  readonly priority: number;
}

interface DueReadsArgs {
  readonly nowMs: number;
  readonly limit: number;
  readonly exclude: readonly string[];
}

/** Failed reads are retried after all untried reads of the same priority. */
type Attempt = 'untried' | 'retry';

const free = (table: string, attempt: Attempt): string => `
  ${table}.product_id NOT IN (SELECT value FROM json_each(@exclude))
  AND ${attempt === 'untried' ? 'NOT EXISTS' : 'EXISTS'} (
    SELECT 1 FROM read_failures f
    WHERE f.product_id = ${table}.product_id${attempt === 'untried' ? '' : ' AND f.next_at_ms <= @nowMs'}
  )`;

/** Retries start from the failures, which are few unless nothing can be read. */
const from = (table: string, attempt: Attempt): string =>
  attempt === 'untried'
    ? `${table} q`
    : `read_failures r CROSS JOIN ${table} q ON q.product_id = r.product_id`;

const requested = (attempt: Attempt): string => `
  SELECT q.product_id AS productId, priority FROM ${from('read_requests', attempt)}
  WHERE not_before_ms <= @nowMs AND ${free('q', attempt)}
  ORDER BY priority, first_made_at_ms LIMIT @limit`;

// One row per gap, longest due first; only the first few are read.
const gaps = (attempt: Attempt): string => `
  SELECT v.product_id AS productId, ${PRIORITY.gap} AS priority
  FROM gaps g CROSS JOIN variants v ON v.variant_id = g.variant_id
  WHERE g.due_at_ms <= @nowMs AND v.product_id IS NOT NULL AND ${free('v', attempt)}
  ORDER BY g.due_at_ms`;

const unread = (attempt: Attempt): string => `
  SELECT q.product_id AS productId, @priority AS priority FROM ${from('products', attempt)}
  WHERE gone_at_ms IS NULL AND read_at_ms < @barrierMs AND ${free('q', attempt)}
  ORDER BY read_at_ms LIMIT @limit`;

// Most recently active first. Those active since the barrier come last: their gaps are read.
const untrusted = (attempt: Attempt): string => `
  SELECT q.product_id AS productId, @priority AS priority FROM ${from('products', attempt)}
  WHERE gone_at_ms IS NULL AND evidence_at_ms < @barrierMs AND ${free('q', attempt)}
  ORDER BY evidence_at_ms DESC LIMIT @limit`;

const BARRIERS = `
  SELECT read_after_ms AS barrierMs, kind FROM runs WHERE state = 'running' AND product_ids_json IS NULL`;

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
  // Skip sources less urgent than the reads found: their queries are expensive when rows are many.
  const isWanted = (priority: number): boolean =>
    found.filter((read) => read.priority <= priority).length < limit;
  if (isWanted(PRIORITY.gap)) {
    found.push(...firstOfEach(prepared<object, DueRead>(db, gaps(attempt)).iterate(common), limit));
  }
  const trustedAfterMs = column<[], number>(db, 'SELECT trusted_after_ms FROM mirror_state').get() ?? 0;
  if (trustedAfterMs <= nowMs && isWanted(PRIORITY.downtime)) {
    const downtime = { ...bound, barrierMs: trustedAfterMs, priority: PRIORITY.downtime };
    found.push(...prepared<object, DueRead>(db, untrusted(attempt)).all(downtime));
    found.push(...prepared<object, DueRead>(db, unread(attempt)).all(downtime));
  }
  const barriers = prepared<[], { readonly barrierMs: number; readonly kind: RunKind }>(db, BARRIERS).all();
  for (const { kind, barrierMs } of barriers) {
    if (barrierMs > nowMs) continue;
    const ofRun = { ...bound, barrierMs, priority: RUN_PRIORITY[kind] };
    found.push(...prepared<object, DueRead>(db, unread(attempt)).all(ofRun));
  }
  return found;
}

/** @param reads most urgent first; consumed only as far as needed. */
function firstOfEach(reads: Iterable<DueRead>, limit: number): DueRead[] {
  const first = new Map<string, DueRead>();
  for (const read of reads) {
    if (first.size === limit) break;
    if (!first.has(read.productId)) first.set(read.productId, read);
  }
  return [...first.values()];
}

export interface NextReads {
  /** Most urgent first. */
  readonly due: readonly string[];
  /** Nothing asks for these; the schedule verifies them. */
  readonly verified: readonly string[];
}

interface NextReadsArgs extends DueReadsArgs {
  /** If not null, a product that was read before this instant goes first, the one read longest ago. */
  readonly fairBeforeMs: number | null;
  /** At most this many products are verified: first those read before `dueBeforeMs`, then by their oldest evidence. */
  readonly verify: { readonly limit: number; readonly dueBeforeMs: number };
}

export function nextReads(db: Db, args: NextReadsArgs): NextReads {
  return db.transaction(() => {
    const { limit, fairBeforeMs, verify } = args;
    // A retry is not fair to products that were never tried.
    const untried = { exclude: args.exclude, nowMs: EARLIEST_MS };
    const fair = fairBeforeMs === null ? [] : readLongAgo(db, untried, fairBeforeMs, 1);
    const due = dueReads(db, args)
      .map(({ productId }) => productId)
      .filter((id) => !fair.includes(id))
      .slice(0, limit - fair.length);
    const room = Math.min(verify.limit, limit - due.length) - fair.length;
    if (room <= 0) return { due, verified: fair };
    const exclude = [...args.exclude, ...fair, ...due];
    const overdue = readLongAgo(db, { ...args, exclude }, verify.dueBeforeMs, room);
    const spare = oldestEvidence(db, { ...args, exclude: [...exclude, ...overdue] }, room - overdue.length);
    return { due, verified: [...fair, ...overdue, ...spare] };
  })();
}

/** Nothing asks for a read of the product, and its reads do not wait after a failure. */
const UNASKED = `
  gone_at_ms IS NULL
  AND product_id NOT IN (SELECT value FROM json_each(@exclude))
  AND NOT EXISTS (SELECT 1 FROM read_requests WHERE read_requests.product_id = products.product_id)
  AND NOT EXISTS (
    SELECT 1 FROM read_failures
    WHERE read_failures.product_id = products.product_id AND read_failures.next_at_ms > @nowMs
  )`;

interface UnaskedArgs {
  readonly nowMs: number;
  readonly exclude: readonly string[];
}

function readLongAgo(db: Db, { nowMs, exclude }: UnaskedArgs, readBeforeMs: number, limit: number): string[] {
  return column<object, string>(
    db,
    `SELECT product_id FROM products WHERE ${UNASKED} AND read_at_ms < @readBeforeMs
     ORDER BY read_at_ms LIMIT @limit`,
  ).all({ nowMs, exclude: JSON.stringify(exclude), readBeforeMs, limit });
}

function oldestEvidence(db: Db, { nowMs, exclude }: UnaskedArgs, limit: number): string[] {
  return column<object, string>(
    db,
    `SELECT product_id FROM products WHERE ${UNASKED} ORDER BY evidence_at_ms LIMIT @limit`,
  ).all({ nowMs, exclude: JSON.stringify(exclude), limit });
}

export interface VerificationCounts {
  readonly products: number;
  /** Products read before the instant. */
  readonly overdueAtEnd: number;
}

export function verificationCounts(db: Db, args: { readonly readBeforeMs: number }): VerificationCounts {
  const sql = `
    SELECT
      (SELECT products FROM live_counts) AS products,
      (SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < @readBeforeMs) AS overdueAtEnd`;
  return prepared<object, VerificationCounts>(db, sql).get(args) ?? { products: 0, overdueAtEnd: 0 };
}

/** A component of a bundle has changed, and the reads of the bundles are due. */
export function areBundlesDue(db: Db, args: { readonly nowMs: number }): boolean {
  const due = 'SELECT count(*) FROM mirror_state WHERE bundles_due_at_ms <= ?';
  return column<[number], number>(db, due).get(args.nowMs) === 1;
}

export function unreadSince(
  db: Db,
  args: { readonly productIds: readonly string[]; readonly sinceMs: number },
): string[] {
  const isUnread =
    'LEFT JOIN products p ON p.product_id = l.value WHERE p.product_id IS NULL OR p.read_at_ms < ?';
  return idsAmong(db, args.productIds, isUnread, args.sinceMs);
}

export function notMirrored(db: Db, args: { readonly productIds: readonly string[] }): string[] {
  const isAbsent =
    'WHERE NOT EXISTS (SELECT 1 FROM products WHERE product_id = l.value AND gone_at_ms IS NULL)';
  return idsAmong(db, args.productIds, isAbsent);
}
