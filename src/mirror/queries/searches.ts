/** The search for the products of unknown variants: what was done, and what it has shown. */
import { EARLIEST_MS, LATEST_MS, REMOVAL_CONFIRM_MS } from '../../core/limits.ts';
import { PRIORITY } from '../../core/reasons.ts';
import type { SQL } from 'drizzle-orm';
import { and, asc, eq, gt, isNotNull, isNull, lte, max, min, ne, not, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import {
  existsIn,
  flag,
  query,
  queryColumn,
  scalar,
  select,
  withBooleans,
  type Flag,
  type Params,
} from '../../sqlite/query.ts';
import { dueReads, liveCounts, products, runs, variants } from '../file/schema.ts';

const HAS_MISSED_ONCE = and(
  isNotNull(variants.missingAtMs),
  eq(variants.lookupAtMs, sql`${variants.missingAtMs} + ${REMOVAL_CONFIRM_MS}`),
);

/** A list since then and a read of every product since it was named. The second search needs no second read of all. */
const isInVain = (params: Params<{ listedFromMs: number; oldestReadMs: number }>) =>
  and(
    lte(variants.lookupAtMs, params.listedFromMs),
    lte(sql`iif(${HAS_MISSED_ONCE}, ${variants.missingAtMs}, ${variants.lookupAtMs})`, params.oldestReadMs),
  );

const lastStart = (condition: SQL | undefined) =>
  sql<number>`coalesce(max(${runs.startedAtMs}) filter (where ${condition}), ${EARLIEST_MS})`;
const isAny = (condition: SQL | undefined) => sql<Flag>`coalesce(max(${condition}), 0)`;

const RUNS = query(() =>
  select({
    /** Start of the last complete list. */
    listedFromMs: lastStart(and(eq(runs.listDone, 1), ne(runs.state, 'failed'))),
    /** Start of the last list that was read for a search. */
    searchedAtMs: lastStart(eq(runs.kind, 'search')),
    /** Start of the last run that reads every product. */
    readAllFromMs: lastStart(ne(runs.kind, 'search')),
    isListing: isAny(and(eq(runs.state, 'running'), eq(runs.listDone, 0))),
    isFirstRead: isAny(and(eq(runs.state, 'running'), eq(runs.kind, 'initial'))),
  })
    .from(runs)
    .where(isNull(runs.productIdsJson)),
);

interface SoughtArgs {
  readonly nowMs: number;
  readonly listedFromMs: number;
  readonly oldestReadMs: number;
}

const SOUGHT = query((params: Params<SoughtArgs>) => {
  const isSought = lte(variants.lookupAtMs, params.nowMs);
  const isUnlisted = and(isSought, gt(variants.lookupAtMs, params.listedFromMs));
  return select({
    earliestMs: scalar(
      select({ atMs: min(variants.lookupAtMs) })
        .from(variants)
        .where(isSought),
    ),
    latestMs: scalar(
      select({ atMs: max(variants.lookupAtMs) })
        .from(variants)
        .where(isSought),
    ),
    /** The earliest variant that no complete list of products covers; null if there is none. */
    firstUnlistedMs: scalar(
      select({ atMs: min(variants.lookupAtMs) })
        .from(variants)
        .where(isUnlisted),
    ),
    /** How many products the mirror has, which is about what a list shows. */
    products: liveCounts.products,
    /** The products on the last page that were requested have been read. */
    isPageRead: flag(
      not(
        existsIn(dueReads, and(lte(dueReads.priority, PRIORITY.unmapped), eq(dueReads.reason, 'unmapped'))),
      ),
    ),
    /** A variant was missed once, and its second search needs a list. */
    isConfirming: existsIn(variants, and(isUnlisted, HAS_MISSED_ONCE)),
    hasConclusion: existsIn(variants, isInVain(params)),
  }).from(liveCounts);
});

const FIRST_SOUGHT = queryColumn((params: Params<{ nowMs: number }>) =>
  select({ variantId: variants.variantId })
    .from(variants)
    .where(lte(variants.lookupAtMs, params.nowMs))
    .limit(1),
);

const OLDEST_READ = queryColumn(() =>
  select({ readAtMs: products.readAtMs })
    .from(products)
    .where(isNull(products.goneAtMs))
    .orderBy(asc(products.readAtMs))
    .limit(1),
);

/**
 * @returns null if no variant is searched for, or if a first read shows every product anyway: it may meet any number of
 * unknown variants. `lookup_at_ms` of a variant is the instant since when it is searched for.
 */
export function searchFacts(db: Db, { nowMs }: { readonly nowMs: number }) {
  return db.transaction(() => {
    if (FIRST_SOUGHT.get(db, { nowMs }) === undefined) return null;
    const { isFirstRead, ...starts } = RUNS.one(db);
    if (isFirstRead === 1) return null;
    /** The oldest last read of a product. Without products, none is left to be read. */
    const oldestReadMs = OLDEST_READ.get(db) ?? LATEST_MS;
    const { listedFromMs } = starts;
    const { earliestMs, latestMs, ...sought } = SOUGHT.one(db, { nowMs, listedFromMs, oldestReadMs });
    if (earliestMs === null || latestMs === null) return null;
    return {
      ...withBooleans(starts, 'isListing'),
      ...withBooleans(sought, 'isPageRead', 'isConfirming', 'hasConclusion'),
      earliestMs,
      latestMs,
      oldestReadMs,
    };
  })();
}

export type SearchFacts = Readonly<NonNullable<ReturnType<typeof searchFacts>>>;

/** Further variants follow in the next step. */
const AT_ONCE = 500;

const IN_VAIN = query((params: Params<{ listedFromMs: number; oldestReadMs: number }>) =>
  select({ variantId: variants.variantId, isAgain: flag(sql`${HAS_MISSED_ONCE}`) })
    .from(variants)
    .where(isInVain(params))
    .orderBy(asc(variants.lookupAtMs))
    .limit(AT_ONCE),
);

export function searchedInVain(
  db: Db,
  args: { readonly listedFromMs: number; readonly oldestReadMs: number },
): { readonly missed: readonly string[]; readonly missedAgain: readonly string[] } {
  const found = IN_VAIN.all(db, args);
  const idsOf = (isAgain: Flag): string[] =>
    found.filter((row) => row.isAgain === isAgain).map(({ variantId }) => variantId);
  return { missed: idsOf(0), missedAgain: idsOf(1) };
}
