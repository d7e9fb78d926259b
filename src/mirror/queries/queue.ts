/** The next reads (docs/architecture.md#queue). A single view would sort every unread product: 280 ms, not 0.1. */
import { PRIORITY } from '../../core/reasons.ts';
import { RUN_PRIORITY } from '../../core/runs.ts';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { and, asc, desc, eq, gt, isNotNull, isNull, lt, lte, not, or, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import {
  existsIn,
  isListed,
  query,
  queryColumn,
  select,
  type Params,
  type RowOf,
} from '../../sqlite/query.ts';
import { dueReads as dueReadRows, gaps, mirrorState, products, runs, variants } from '../file/schema.ts';
import { liveCounts } from './status.ts';

interface Now {
  readonly nowMs: number;
  /** JSON array of product ids. */
  readonly exclude: string;
}

interface Room extends Now {
  readonly limit: number;
}

const REQUESTED = query((params: Params<Room>) =>
  select({
    productId: dueReadRows.productId,
    priority: dueReadRows.priority,
    /** Failures so far: a product not yet tried goes before a retry of the same priority. */
    attempts: dueReadRows.attempts,
  })
    .from(dueReadRows)
    .where(
      and(
        lte(dueReadRows.notBeforeMs, params.nowMs),
        lte(dueReadRows.retryAtMs, params.nowMs),
        eq(dueReadRows.parked, 0),
        not(isListed(dueReadRows.productId, params.exclude)),
      ),
    )
    .orderBy(asc(dueReadRows.priority), asc(dueReadRows.attempts), asc(dueReadRows.firstMadeAtMs))
    .limit(params.limit),
);

export type DueRead = Readonly<RowOf<typeof REQUESTED>>;

/** The read of the row's product waits after a failure. */
const isRetryAwaited = (params: Params<Now>) =>
  or(eq(dueReadRows.parked, 1), gt(dueReadRows.retryAtMs, params.nowMs));

/** The row of `due_reads` says when the product is read; a row that is only held says nothing about that. */
const isRowDecisive = (params: Params<Now>) => or(eq(dueReadRows.held, 0), isRetryAwaited(params));

/**
 * Once a read has failed, the product's row in `due_reads` says when it is read. A request that is not due
 * yet, or held, keeps no other reason waiting.
 */
const isFree = (productId: SQLiteColumn, params: Params<Now>) =>
  and(
    not(isListed(productId, params.exclude)),
    not(
      existsIn(
        dueReadRows,
        and(
          eq(dueReadRows.productId, productId),
          isNotNull(dueReadRows.failedAtMs),
          or(lte(dueReadRows.notBeforeMs, params.nowMs), isRetryAwaited(params)),
        ),
      ),
    ),
  );

/** One row per gap, longest due first; only the first few are read. */
const GAPS = query((params: Params<Now>) =>
  select({
    productId: sql<string>`${variants.productId}`,
    priority: sql<number>`${PRIORITY.gap}`,
    attempts: sql<number>`0`,
  })
    .from(gaps)
    .crossJoin(variants)
    .where(
      and(
        eq(variants.variantId, gaps.variantId),
        lte(gaps.dueAtMs, params.nowMs),
        isNotNull(variants.productId),
        isFree(variants.productId, params),
      ),
    )
    .orderBy(asc(gaps.dueAtMs)),
);

interface BarrierRoom extends Room {
  readonly barrierMs: number;
  readonly priority: number;
}

const untried = (params: Params<BarrierRoom>) => ({
  productId: products.productId,
  priority: sql<number>`${params.priority}`,
  attempts: sql<number>`0`,
});

/** Products whose `instant` is before the barrier, in its order. */
const behindBarrier = (instant: SQLiteColumn, sorted: typeof asc) =>
  query((params: Params<BarrierRoom>) =>
    select(untried(params))
      .from(products)
      .where(
        and(isNull(products.goneAtMs), lt(instant, params.barrierMs), isFree(products.productId, params)),
      )
      .orderBy(sorted(instant))
      .limit(params.limit),
  );

const UNREAD = behindBarrier(products.readAtMs, asc);

// Most recently active first. Products with a delivery since the barrier are not among these: `UNREAD` lists them
// afterwards, because the chain of those deliveries shows what was lost.
const UNTRUSTED = behindBarrier(products.evidenceAtMs, desc);

const DOWNTIME_BARRIER = queryColumn(() =>
  select({ trustedAfterMs: mirrorState.trustedAfterMs }).from(mirrorState),
);

const RUN_BARRIERS = query(() =>
  select({ barrierMs: runs.readAfterMs, kind: runs.kind })
    .from(runs)
    .where(and(eq(runs.state, 'running'), isNull(runs.productIdsJson))),
);

interface DueReadsArgs {
  readonly nowMs: number;
  readonly limit: number;
  readonly exclude: readonly string[];
}

export function dueReads(db: Db, { nowMs, limit, exclude }: DueReadsArgs): DueRead[] {
  const common = { nowMs, exclude: JSON.stringify(exclude) };
  const bound = { ...common, limit };
  const found: DueRead[] = REQUESTED.all(db, bound);
  // Skip sources less urgent than the reads found: their queries are expensive when rows are many.
  const isBefore = (read: DueRead, priority: number): boolean =>
    read.priority < priority || (read.priority === priority && read.attempts === 0);
  const isWanted = (priority: number): boolean =>
    found.filter((read) => isBefore(read, priority)).length < limit;
  if (isWanted(PRIORITY.gap)) {
    found.push(...firstOfEach(GAPS.iterate(db, common), limit));
  }
  const trustedAfterMs = DOWNTIME_BARRIER.one(db);
  if (trustedAfterMs <= nowMs && isWanted(PRIORITY.downtime)) {
    const downtime = { ...bound, barrierMs: trustedAfterMs, priority: PRIORITY.downtime };
    found.push(...UNTRUSTED.all(db, downtime));
    found.push(...UNREAD.all(db, downtime));
  }
  for (const { kind, barrierMs } of RUN_BARRIERS.all(db)) {
    if (barrierMs > nowMs) continue;
    const ofRun = { ...bound, barrierMs, priority: RUN_PRIORITY[kind] };
    found.push(...UNREAD.all(db, ofRun));
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

interface NextReads {
  /** Most urgent first. */
  readonly due: readonly DueRead[];
  /** Nothing asks for these: the products read longest ago. */
  readonly scheduled: readonly string[];
}

interface NextReadsArgs extends DueReadsArgs {
  /** If not null, the product read longest ago goes first, whatever is due, if it was read before this instant. */
  readonly turnBeforeMs: number | null;
  /** The most scheduled reads while there is room. */
  readonly scheduled: number;
}

export function nextReads(db: Db, args: NextReadsArgs): NextReads {
  return db.transaction(() => {
    const { nowMs, exclude, limit, turnBeforeMs } = args;
    const longestAgo = (readBeforeMs: number, most: number, ...taken: readonly string[]): string[] =>
      READ_LONGEST_AGO.all(db, {
        nowMs,
        exclude: JSON.stringify([...exclude, ...taken]),
        readBeforeMs,
        limit: most,
      }).map(({ productId }) => productId);
    const turn = turnBeforeMs === null ? [] : longestAgo(turnBeforeMs, 1);
    const due = dueReads(db, { nowMs, exclude: [...exclude, ...turn], limit: limit - turn.length });
    const room = Math.min(args.scheduled, limit - due.length) - turn.length;
    const taken = [...turn, ...due.map(({ productId }) => productId)];
    const others = room > 0 ? longestAgo(nowMs, room, ...taken) : [];
    return { due, scheduled: [...turn, ...others] };
  })();
}

/** A request does not exempt a product: more urgent ones may keep it waiting. A failed read is repeated by its row alone. */
const READ_LONGEST_AGO = query((params: Params<Room & { readonly readBeforeMs: number }>) =>
  select({ productId: products.productId, readAtMs: products.readAtMs })
    .from(products)
    .where(
      and(
        isNull(products.goneAtMs),
        not(isListed(products.productId, params.exclude)),
        not(
          existsIn(
            dueReadRows,
            and(
              eq(dueReadRows.productId, products.productId),
              gt(dueReadRows.attempts, 0),
              isRowDecisive(params),
            ),
          ),
        ),
        lt(products.readAtMs, params.readBeforeMs),
      ),
    )
    .orderBy(asc(products.readAtMs))
    .limit(params.limit),
);

export interface VerificationOutlook {
  readonly products: number;
  /** null if the schedule can read none. */
  readonly oldestReadAtMs: number | null;
}

export function verificationOutlook(db: Db, { nowMs }: { readonly nowMs: number }): VerificationOutlook {
  const [oldest] = READ_LONGEST_AGO.all(db, { nowMs, exclude: '[]', readBeforeMs: nowMs, limit: 1 });
  return { products: liveCounts(db).products, oldestReadAtMs: oldest?.readAtMs ?? null };
}

const BUNDLES_DUE = query((params: Params<{ nowMs: number }>) =>
  select({ id: mirrorState.id }).from(mirrorState).where(lte(mirrorState.bundlesDueAtMs, params.nowMs)),
);

/** A component of a bundle has changed, and the reads of the bundles are due. */
export function areBundlesDue(db: Db, args: { readonly nowMs: number }): boolean {
  return BUNDLES_DUE.get(db, args) !== undefined;
}
