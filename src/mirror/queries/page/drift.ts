/** Differences that reads found and corrected: newest first, by an index of its own. */
import { and, desc, eq, exists, lt, sql } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import { changes, gaps, readRequests, variants } from '../../file/schema.ts';
import { select, typed, type RowOf } from '../../../sqlite/typed.ts';
import type { CorrectionCause } from '../../../core/causes.ts';

const SUSPECT = select({ productId: readRequests.productId })
  .from(readRequests)
  .where(and(eq(readRequests.productId, variants.productId), eq(readRequests.isSuspect, 1)));

const GAP = select({ variantId: gaps.variantId })
  .from(gaps)
  .where(and(eq(gaps.variantId, changes.variantId), eq(gaps.warehouseId, changes.warehouseId)));

const OF_CAUSE = typed(
  select({
    seq: changes.seq,
    variantId: changes.variantId,
    productId: variants.productId,
    /** Null: the variant's total. */
    warehouseId: changes.warehouseId,
    sku: changes.sku,
    oldQty: changes.oldQty,
    /** Null: it is no longer in the store. */
    newQty: changes.newQty,
    cause: sql<CorrectionCause>`${changes.reason}`,
    recordedAtMs: changes.recordedAtMs,
    isOpen: sql<0 | 1>`${exists(SUSPECT)} OR ${exists(GAP)}`,
  })
    .from(changes)
    .leftJoin(variants, eq(variants.variantId, changes.variantId))
    .where(
      and(
        // The index's own condition, word by word: with bound values SQLite does not see that it holds.
        sql`source = 'read' AND reason <> 'first_read'`,
        eq(changes.reason, sql.placeholder('cause')),
        lt(changes.seq, sql.placeholder('beforeSeq')),
      ),
    )
    .orderBy(desc(changes.seq))
    .limit(sql.placeholder('limit')),
);

export interface Correction extends Omit<RowOf<typeof OF_CAUSE>, 'isOpen'> {
  /** No re-read request is open for it any more. */
  readonly isClosed: boolean;
}

export interface Corrections {
  readonly corrections: readonly Correction[];
  readonly hasMore: boolean;
}

export function corrections(
  db: Db,
  args: {
    readonly causes: readonly CorrectionCause[];
    readonly beforeSeq: number | null;
    readonly limit: number;
  },
): Corrections {
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const found = args.causes
    .flatMap((cause) => OF_CAUSE.all(db, { cause, beforeSeq, limit: args.limit + 1 }))
    .toSorted((a, b) => b.seq - a.seq);
  return {
    corrections: found.slice(0, args.limit).map(({ isOpen, ...row }) => ({ ...row, isClosed: isOpen === 0 })),
    hasMore: found.length > args.limit,
  };
}
