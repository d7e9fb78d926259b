/** The search for the products of unknown variants: what was done, and what it has shown. */
import type { SQL } from 'drizzle-orm';
import { EARLIEST_MS, LATEST_MS, REPLICA_LAG_MS } from '../../core/limits.ts';
import { and, asc, eq, gt, isNull, lte, max, min, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import {
  existsIn,
  query,
  queryColumn,
  scalar,
  select,
  withBooleans,
  type Flag,
  type Params,
} from '../../sqlite/query.ts';
import { liveCounts, mirrorState, products, runs, variants } from '../file/schema.ts';

const lastStart = (condition: SQL | undefined) =>
  sql<number>`coalesce(max(${runs.startedAtMs}) filter (where ${condition}), ${EARLIEST_MS})`;
const isAny = (condition: SQL | undefined) => sql<Flag>`coalesce(max(${condition}), 0)`;

const RUNS = query(() =>
  select({
    /** Start of the last list that was read for a search. */
    searchedAtMs: lastStart(eq(runs.kind, 'search')),
    isListing: isAny(and(eq(runs.state, 'running'), eq(runs.listDone, 0))),
    isFirstRead: isAny(and(eq(runs.state, 'running'), eq(runs.kind, 'initial'))),
  })
    .from(runs)
    .where(isNull(runs.productIdsJson)),
);

const SOUGHT = query((params: Params<{ nowMs: number }>) => {
  const isSought = lte(variants.lookupAtMs, params.nowMs);
  return select({
    /** Start of the last complete list. */
    listedFromMs: mirrorState.listedFromMs,
    latestMs: scalar(
      select({ atMs: max(variants.lookupAtMs) })
        .from(variants)
        .where(isSought),
    ),
    /** The first variant that no complete list covers; null if there is none. */
    firstUnlistedMs: scalar(
      select({ atMs: min(variants.lookupAtMs) })
        .from(variants)
        .where(and(isSought, gt(variants.lookupAtMs, mirrorState.listedFromMs))),
    ),
    /** How many products the mirror has, which is about what a list shows. */
    products: liveCounts.products,
    /** No complete list has shown whether a product that answered 404 is gone. */
    isRemovalUnlisted: existsIn(
      products,
      and(
        gt(products.missingAtMs, sql`${mirrorState.listedFromMs} - ${REPLICA_LAG_MS}`),
        lte(products.missingAtMs, sql`${params.nowMs} - ${REPLICA_LAG_MS}`),
        isNull(products.goneAtMs),
      ),
    ),
  })
    .from(liveCounts)
    .crossJoin(mirrorState);
});

const OLDEST_READ = queryColumn(() =>
  select({ readAtMs: products.readAtMs })
    .from(products)
    .where(isNull(products.goneAtMs))
    .orderBy(asc(products.readAtMs))
    .limit(1),
);

/** Further variants follow in the next step. */
const AT_ONCE = 500;

const MISSED = queryColumn((params: Params<{ sweptFromMs: number }>) =>
  select({ variantId: variants.variantId })
    .from(variants)
    .where(lte(variants.lookupAtMs, params.sweptFromMs))
    .orderBy(asc(variants.lookupAtMs))
    .limit(AT_ONCE),
);

/**
 * `lookup_at_ms` of a variant is the instant since when it is searched for.
 * @returns null if nothing is searched for, or if a first read shows every product anyway: it may meet any number of
 * unknown variants.
 */
export function searchFacts(db: Db, { nowMs }: { readonly nowMs: number }) {
  return db.transaction(() => {
    const { isFirstRead, ...lists } = RUNS.one(db);
    const sought = withBooleans(SOUGHT.one(db, { nowMs }), 'isRemovalUnlisted');
    const isAnySought = sought.latestMs !== null || sought.isRemovalUnlisted;
    if (!isAnySought || isFirstRead === 1) return null;
    /** Without products, none is left to be read. */
    const oldestReadMs = OLDEST_READ.get(db) ?? LATEST_MS;
    /** A list of the catalogue and reads of every product have shown all that the store had since then. */
    const sweptFromMs = Math.min(sought.listedFromMs, oldestReadMs);
    return {
      ...withBooleans(lists, 'isListing'),
      ...sought,
      sweptFromMs,
      /** Variants that were searched for since then, in vain. */
      missed: MISSED.all(db, { sweptFromMs }),
    };
  })();
}

export type SearchFacts = Readonly<NonNullable<ReturnType<typeof searchFacts>>>;
