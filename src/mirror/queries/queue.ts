/** The next reads (docs/architecture.md#queue). A single view would sort every unread product: 280 ms, not 0.1. */
import { PRIORITY } from '../../core/reasons.ts';
import { RUN_PRIORITY, type RunKind } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import { column, idsAmong, prepared } from '../../sqlite/prepared.ts';

export interface DueRead {
  readonly productId: string;
  readonly priority: number;
  /** Failures so far: a product not yet tried goes before a retry of the same priority. */
  readonly attempts: number;
}

interface DueReadsArgs {
  readonly nowMs: number;
  readonly limit: number;
  readonly exclude: readonly string[];
}

const NOT_EXCLUDED = 'product_id NOT IN (SELECT value FROM json_each(@exclude))';

const REQUESTED = `
  SELECT product_id AS productId, priority, attempts FROM due_reads
  WHERE not_before_ms <= @nowMs AND retry_at_ms <= @nowMs AND parked = 0 AND ${NOT_EXCLUDED}
  ORDER BY priority, attempts, first_made_at_ms LIMIT @limit`;

/** Once a read has failed, the product's row in `due_reads` says when it is read; a held row says nothing about that. */
const free = (table: string): string => `
  ${table}.${NOT_EXCLUDED}
  AND NOT EXISTS (
    SELECT 1 FROM due_reads
    WHERE due_reads.product_id = ${table}.product_id AND failed_at_ms IS NOT NULL
      AND (held = 0 OR parked = 1 OR retry_at_ms > @nowMs)
  )`;

// One row per gap, longest due first; only the first few are read.
const GAPS = `
  SELECT variants.product_id AS productId, ${PRIORITY.gap} AS priority, 0 AS attempts
  FROM gaps CROSS JOIN variants ON variants.variant_id = gaps.variant_id
  WHERE gaps.due_at_ms <= @nowMs AND variants.product_id IS NOT NULL AND ${free('variants')}
  ORDER BY gaps.due_at_ms`;

const UNREAD = `
  SELECT product_id AS productId, @priority AS priority, 0 AS attempts FROM products
  WHERE gone_at_ms IS NULL AND read_at_ms < @barrierMs AND ${free('products')}
  ORDER BY read_at_ms LIMIT @limit`;

// Most recently active first. Products with a delivery since the barrier are not among these: `UNREAD` lists them
// afterwards, because the chain of those deliveries shows what was lost.
const UNTRUSTED = `
  SELECT product_id AS productId, @priority AS priority, 0 AS attempts FROM products
  WHERE gone_at_ms IS NULL AND evidence_at_ms < @barrierMs AND ${free('products')}
  ORDER BY evidence_at_ms DESC LIMIT @limit`;

const BARRIERS = `
  SELECT read_after_ms AS barrierMs, kind FROM runs WHERE state = 'running' AND product_ids_json IS NULL`;

export function dueReads(db: Db, { nowMs, limit, exclude }: DueReadsArgs): DueRead[] {
  const common = { nowMs, exclude: JSON.stringify(exclude) };
  const bound = { ...common, limit };
  const found = prepared<object, DueRead>(db, REQUESTED).all(bound);
  // Skip sources less urgent than the reads found: their queries are expensive when rows are many.
  const isBefore = (read: DueRead, priority: number): boolean =>
    read.priority < priority || (read.priority === priority && read.attempts === 0);
  const isWanted = (priority: number): boolean =>
    found.filter((read) => isBefore(read, priority)).length < limit;
  if (isWanted(PRIORITY.gap)) {
    found.push(...firstOfEach(prepared<object, DueRead>(db, GAPS).iterate(common), limit));
  }
  const trustedAfterMs = column<[], number>(db, 'SELECT trusted_after_ms FROM mirror_state').get() ?? 0;
  if (trustedAfterMs <= nowMs && isWanted(PRIORITY.downtime)) {
    const downtime = { ...bound, barrierMs: trustedAfterMs, priority: PRIORITY.downtime };
    found.push(...prepared<object, DueRead>(db, UNTRUSTED).all(downtime));
    found.push(...prepared<object, DueRead>(db, UNREAD).all(downtime));
  }
  const barriers = prepared<[], { readonly barrierMs: number; readonly kind: RunKind }>(db, BARRIERS).all();
  for (const { kind, barrierMs } of barriers) {
    if (barrierMs > nowMs) continue;
    const ofRun = { ...bound, barrierMs, priority: RUN_PRIORITY[kind] };
    found.push(...prepared<object, DueRead>(db, UNREAD).all(ofRun));
  }
  return firstOfEach(
    found.toSorted((a, b) => a.priority - b.priority || a.attempts - b.attempts),
    limit,
  );
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
  readonly due: readonly DueRead[];
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
    const { nowMs, limit, fairBeforeMs, verify } = args;
    const excluding = (...more: readonly string[]): string => JSON.stringify([...args.exclude, ...more]);
    const fair = fairBeforeMs === null ? [] : fairRead(db, excluding(), fairBeforeMs);
    const due = dueReads(db, args)
      .filter(({ productId }) => !fair.includes(productId))
      .slice(0, limit - fair.length);
    const room = Math.min(verify.limit, limit - due.length) - fair.length;
    if (room <= 0) return { due, verified: fair };
    const taken = [...fair, ...due.map(({ productId }) => productId)];
    const overdue = readLongAgo(db, verify.dueBeforeMs, { nowMs, exclude: excluding(...taken), limit: room });
    const exclude = excluding(...taken, ...overdue);
    const spare = oldestEvidence(db, { nowMs, exclude, limit: room - overdue.length });
    return { due, verified: [...fair, ...overdue, ...spare] };
  })();
}

/** No row of `due_reads` leads to a read of the product: it has none, or one that only the mass-removal guard holds. */
const UNASKED = `
  gone_at_ms IS NULL
  AND ${NOT_EXCLUDED}
  AND NOT EXISTS (
    SELECT 1 FROM due_reads
    WHERE due_reads.product_id = products.product_id AND (held = 0 OR parked = 1 OR retry_at_ms > @nowMs)
  )`;

/** A request does not exempt the product: more urgent ones may keep it waiting. A retry would take another's turn. */
const UNTRIED = `
  gone_at_ms IS NULL
  AND ${NOT_EXCLUDED}
  AND NOT EXISTS (
    SELECT 1 FROM due_reads
    WHERE due_reads.product_id = products.product_id AND due_reads.attempts > 0
  )`;

function fairRead(db: Db, exclude: string, readBeforeMs: number): string[] {
  return column<object, string>(
    db,
    `SELECT product_id FROM products WHERE ${UNTRIED} AND read_at_ms < @readBeforeMs
     ORDER BY read_at_ms LIMIT 1`,
  ).all({ exclude, readBeforeMs });
}

interface Room {
  readonly nowMs: number;
  /** JSON array of product ids. */
  readonly exclude: string;
  readonly limit: number;
}

function readLongAgo(db: Db, readBeforeMs: number, room: Room): string[] {
  return column<object, string>(
    db,
    `SELECT product_id FROM products WHERE ${UNASKED} AND read_at_ms < @readBeforeMs
     ORDER BY read_at_ms LIMIT @limit`,
  ).all({ ...room, readBeforeMs });
}

function oldestEvidence(db: Db, room: Room): string[] {
  return column<object, string>(
    db,
    `SELECT product_id FROM products WHERE ${UNASKED} ORDER BY evidence_at_ms LIMIT @limit`,
  ).all(room);
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
