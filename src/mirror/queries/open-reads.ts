/** Products that need a decision or a look: held removals, and reads that fail. */
import type { SQL } from 'drizzle-orm';
import { and, asc, count, eq, gt, isNotNull, isNull, sql } from '../../sqlite/drizzle.ts';
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

/** Rows of `mirror_sellable` that would go: those of the product, or of its parts, that the last read did not show. */
const AT_STAKE = sql`
  ${variants}
  left join ${stockLevels} on ${variants.soldAsTotal} = 0
    and ${eq(stockLevels.variantId, variants.variantId)}
    and ${isNull(stockLevels.goneAtMs)}
  where ${eq(variants.productId, dueReads.productId)}
    and ${gt(variants.sellableRows, 0)}
    and (
      ${isNotNull(products.missingAtMs)}
      or ${isNotNull(variants.missingAtMs)}
      or ${isNotNull(stockLevels.missingAtMs)}
    )`;
const QUANTITIES = sql<number>`(select count(*) from ${AT_STAKE})`;
const UNITS = sql<number>`(
  select coalesce(sum(coalesce(${stockLevels.qty}, ${variants.availableQty})), 0) from ${AT_STAKE}
)`;
const SKUS_SHOWN = 20;
const SKUS = sql<string>`(
  select json_group_array(sku) from (
    select distinct ${variants.sku} as sku from ${AT_STAKE} and ${isNotNull(variants.sku)} limit ${sql.raw(`${SKUS_SHOWN}`)}
  )
)`;

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
      quantities: QUANTITIES,
      units: UNITS,
      skusJson: SKUS,
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
  'firstMadeAtMs' | 'productMissingAtMs' | 'missingVariants' | 'missingLevels' | 'skusJson'
> {
  readonly sinceMs: number;
  /** Rows of the mirror that the latest read did not show. */
  readonly missing: MissingRows;
  /** Missing rows; some of them if there are many. */
  readonly skus: readonly string[];
}

/** Rows that would be removed if an operator allowed all held removals. */
const HELD = query(() =>
  select({
    products: count(),
    quantities: sql<number>`coalesce(sum(${QUANTITIES}), 0)`,
    units: sql<number>`coalesce(sum(${UNITS}), 0)`,
  })
    .from(dueReads)
    .leftJoin(products, eq(products.productId, dueReads.productId))
    .where(eq(dueReads.held, 1)),
);

export function heldRemovals(db: Db): RowOf<typeof HELD> {
  return HELD.one(db);
}

/** In the order of the ids, so that no page changes while reads are retried. */
export function openReads(db: Db, { kind, after, limit }: OpenReadsArgs): OpenReadPage {
  const found = OPEN_READS[kind].all(db, { after, limit: limit + 1 });
  const reads = found.slice(0, limit).map(openReadOf);
  return { reads, next: found.length > limit ? (reads.at(-1)?.productId ?? null) : null };
}

function openReadOf(row: Row): OpenRead {
  const { firstMadeAtMs, productMissingAtMs, missingVariants, missingLevels, skusJson, ...read } = row;
  return {
    ...read,
    sinceMs: productMissingAtMs ?? firstMadeAtMs,
    missing: {
      product: productMissingAtMs !== null,
      variants: missingVariants,
      levels: missingLevels,
    },
    skus: JSON.parse(skusJson) as string[],
  };
}
