/** Facts about the way in, and products to probe it with (docs/architecture.md#the-way-in). */
import type { UntoldChange, WayIn } from '../../core/model.ts';
import { and, desc, eq, isNotNull, isNull, ne, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import {
  LISTED_ID,
  listOf,
  query,
  queryColumn,
  select,
  type Params,
  type RowOf,
} from '../../sqlite/query.ts';
import { changes, mirrorState, products, variants } from '../file/schema.ts';

const WAY_IN = query(() =>
  select({
    wayIn: mirrorState.wayIn,
    wayInSinceMs: mirrorState.wayInSinceMs,
    lastWebhookAtMs: mirrorState.lastWebhookAtMs,
    meanGapMs: mirrorState.meanGapMs,
    untoldJson: mirrorState.untoldJson,
  }).from(mirrorState),
);

export function wayIn(db: Db): Omit<WayIn, 'secrets'> {
  const { untoldJson, ...row } = WAY_IN.one(db);
  return { ...row, untold: JSON.parse(untoldJson ?? 'null') as UntoldChange | null };
}

const OF_VARIANTS = query((params: Params<{ idsJson: string }>) =>
  select({ variantId: variants.variantId, productId: sql<string>`${variants.productId}` })
    .from(listOf(params.idsJson))
    .innerJoin(variants, eq(variants.variantId, LISTED_ID))
    .where(and(isNotNull(variants.productId), isNull(variants.goneAtMs))),
);

type ProductOfVariant = Readonly<RowOf<typeof OF_VARIANTS>>;

/** Variants that no read has shown are omitted. */
export function productsOfVariants(
  db: Db,
  { variantIds }: { readonly variantIds: readonly string[] },
): ProductOfVariant[] {
  return OF_VARIANTS.all(db, { idsJson: JSON.stringify(variantIds) });
}

/** Latest changes of the feed that are searched for distinct products. */
const CHANGES_SEARCHED = 5_000;

const LATEST_CHANGED = queryColumn(() =>
  select({ productId: sql<string>`${variants.productId}` })
    .from(changes)
    .innerJoin(variants, eq(variants.variantId, changes.variantId))
    .where(and(isNotNull(variants.productId), isNull(variants.goneAtMs), ne(changes.reason, 'first_read')))
    .orderBy(desc(changes.seq))
    .limit(CHANGES_SEARCHED),
);

const LATEST_ACTIVE = queryColumn((params: Params<{ limit: number }>) =>
  select({ productId: products.productId })
    .from(products)
    .where(isNull(products.goneAtMs))
    .orderBy(desc(products.evidenceAtMs))
    .limit(params.limit),
);

/** Products with the latest changes, the youngest first; if the feed has too few, others follow. */
export function latestChanged(db: Db, { limit }: { readonly limit: number }): string[] {
  const found = new Set<string>();
  for (const productId of LATEST_CHANGED.iterate(db)) {
    if (found.size === limit) break;
    found.add(productId);
  }
  for (const productId of LATEST_ACTIVE.all(db, { limit })) {
    if (found.size < limit) found.add(productId);
  }
  return [...found];
}
