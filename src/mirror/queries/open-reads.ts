/** Products that need a decision or a look: held removals, and reads that fail. */
import type { SQL } from 'drizzle-orm';
import { and, asc, eq, gt, isNotNull, isNull, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { countOf, query, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { dueReads, products, stockLevels, variants } from '../file/schema.ts';

interface MissingRows {
  /** The product, with everything in it. */
  readonly product: boolean;
  readonly variants: number;
  readonly levels: number;
}

interface OpenReadPage {
  readonly reads: readonly OpenRead[];
  /** `after` of the next page; null on the last page. */
  readonly next: string | null;
}

interface OpenReadsArgs {
  readonly kind: OpenReadKind;
  /** `next` of the previous page; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

const MISSING_VARIANTS = countOf(
  variants,
  and(eq(variants.productId, dueReads.productId), isNotNull(variants.missingAtMs), isNull(variants.goneAtMs)),
);

const MISSING_LEVELS = countOf(
  sql`${variants} cross join ${stockLevels}`,
  and(
    eq(stockLevels.variantId, variants.variantId),
    eq(variants.productId, dueReads.productId),
    isNotNull(stockLevels.missingAtMs),
    isNull(stockLevels.goneAtMs),
  ),
);

const readsWhere = (condition: SQL) =>
  query((params: Params<{ after: string; limit: number }>) =>
    select({
      productId: dueReads.productId,
      /** null if no read has shown the product. */
      name: products.name,
      firstMadeAtMs: dueReads.firstMadeAtMs,
      productMissingAtMs: products.missingAtMs,
      missingVariants: MISSING_VARIANTS,
      missingLevels: MISSING_LEVELS,
      failedAtMs: dueReads.failedAtMs,
      lastError: dueReads.lastError,
      attempts: dueReads.attempts,
      /**
       * Earliest retry; null if the store refused the read: only a schedule, a run or an operator's request
       * tries again.
       */
      retryAtMs: sql<number | null>`iif(${dueReads.parked} = 1, null, ${dueReads.retryAtMs})`,
    })
      .from(dueReads)
      .leftJoin(products, eq(products.productId, dueReads.productId))
      .where(and(condition, gt(dueReads.productId, params.after)))
      .orderBy(asc(dueReads.productId))
      .limit(params.limit),
  );

const OPEN_READS = {
  held: readsWhere(eq(dueReads.held, 1)),
  failing: readsWhere(isNotNull(dueReads.failedAtMs)),
};

export type OpenReadKind = keyof typeof OPEN_READS;

type Row = RowOf<(typeof OPEN_READS)[OpenReadKind]>;

interface OpenRead extends Omit<
  Row,
  'firstMadeAtMs' | 'productMissingAtMs' | 'missingVariants' | 'missingLevels'
> {
  readonly sinceMs: number;
  /** Rows of the mirror that the latest read did not show. */
  readonly missing: MissingRows;
}

/** In the order of the ids, so that no page changes while reads are retried. */
export function openReads(db: Db, { kind, after, limit }: OpenReadsArgs): OpenReadPage {
  const found = OPEN_READS[kind].all(db, { after, limit: limit + 1 });
  const reads = found.slice(0, limit).map(openReadOf);
  return { reads, next: found.length > limit ? (reads.at(-1)?.productId ?? null) : null };
}

function openReadOf(row: Row): OpenRead {
  const { firstMadeAtMs, productMissingAtMs, missingVariants, missingLevels, ...read } = row;
  return {
    ...read,
    sinceMs: productMissingAtMs ?? firstMadeAtMs,
    missing: {
      product: productMissingAtMs !== null,
      variants: missingVariants,
      levels: missingLevels,
    },
  };
}
