/** The search for the products of unknown variants: what was done, and what it has shown. */
import { EARLIEST_MS, LATEST_MS, REMOVAL_CONFIRM_MS } from '../../core/limits.ts';
import { PRIORITY } from '../../core/reasons.ts';
import type { Db } from '../../sqlite/open.ts';
import { column, prepared } from '../../sqlite/prepared.ts';

/** `lookup_at_ms` of a variant is the instant since when it is searched for. */
export interface SearchFacts {
  readonly earliestMs: number;
  readonly latestMs: number;
  /** The earliest variant that no complete list of products covers; null if there is none. */
  readonly firstUnlistedMs: number | null;
  /** Start of the last complete list. */
  readonly listedFromMs: number;
  /** Start of the last list that was read for a search. */
  readonly searchedAtMs: number;
  /** Start of the last run that reads every product. */
  readonly readAllFromMs: number;
  /** How many products the mirror has, which is about what a list shows. */
  readonly products: number;
  /** The oldest last read of a product. */
  readonly oldestReadMs: number;
  readonly isListing: boolean;
  readonly isFirstRead: boolean;
  /** The products on the last page that were requested have been read. */
  readonly isPageRead: boolean;
  /** A variant was missed once, and its second search needs a list. */
  readonly isConfirming: boolean;
  readonly hasConclusion: boolean;
}

/** The first search has missed the variant; the second one may begin at `lookup_at_ms`. */
const MISSED_ONCE = `missing_at_ms IS NOT NULL AND lookup_at_ms = missing_at_ms + ${REMOVAL_CONFIRM_MS}`;

/** A list since then and a read of every product since it was named. The second search needs no second read of all. */
const IN_VAIN = `
  lookup_at_ms <= @listedFromMs
  AND iif(${MISSED_ONCE}, missing_at_ms, lookup_at_ms) <= @oldestReadMs`;

const RUNS = `
  SELECT
    coalesce(max(started_at_ms) FILTER (WHERE list_done = 1 AND state <> 'failed'), ${EARLIEST_MS}) AS listedFromMs,
    coalesce(max(started_at_ms) FILTER (WHERE kind = 'search'), ${EARLIEST_MS}) AS searchedAtMs,
    coalesce(max(started_at_ms) FILTER (WHERE kind <> 'search'), ${EARLIEST_MS}) AS readAllFromMs,
    coalesce(max(state = 'running' AND list_done = 0), 0) AS isListing,
    coalesce(max(state = 'running' AND kind = 'initial'), 0) AS isFirstRead
  FROM runs WHERE product_ids_json IS NULL`;

const SOUGHT = `
  SELECT
    (SELECT min(lookup_at_ms) FROM variants WHERE lookup_at_ms <= @nowMs) AS earliestMs,
    (SELECT max(lookup_at_ms) FROM variants WHERE lookup_at_ms <= @nowMs) AS latestMs,
    (
      SELECT min(lookup_at_ms) FROM variants WHERE lookup_at_ms <= @nowMs AND lookup_at_ms > @listedFromMs
    ) AS firstUnlistedMs,
    NOT EXISTS (
      SELECT 1 FROM due_reads WHERE priority <= ${PRIORITY.unmapped} AND reason = 'unmapped'
    ) AS isPageRead,
    EXISTS (
      SELECT 1 FROM variants
      WHERE lookup_at_ms <= @nowMs AND lookup_at_ms > @listedFromMs AND ${MISSED_ONCE}
    ) AS isConfirming,
    EXISTS (SELECT 1 FROM variants WHERE ${IN_VAIN}) AS hasConclusion`;

const PRODUCTS = 'SELECT products FROM live_counts';
const OLDEST_READ = 'SELECT read_at_ms FROM products WHERE gone_at_ms IS NULL ORDER BY read_at_ms LIMIT 1';

type Flagged<T> = { readonly [K in keyof T]: T[K] extends boolean ? number : T[K] };
type RunFacts = Pick<
  SearchFacts,
  'listedFromMs' | 'searchedAtMs' | 'readAllFromMs' | 'isListing' | 'isFirstRead'
>;
type SoughtFacts = Omit<
  SearchFacts,
  keyof RunFacts | 'products' | 'oldestReadMs' | 'earliestMs' | 'latestMs'
> & {
  readonly earliestMs: number | null;
  readonly latestMs: number | null;
};

/** @returns null if no variant is searched for. */
export function searchFacts(db: Db, { nowMs }: { readonly nowMs: number }): SearchFacts | null {
  return db.transaction(() => {
    const isAny = 'SELECT EXISTS (SELECT 1 FROM variants WHERE lookup_at_ms <= ?)';
    if (column<[number], number>(db, isAny).get(nowMs) === 0) return null;
    const runs = prepared<[], Flagged<RunFacts>>(db, RUNS).get();
    if (runs === undefined) return null;
    const { listedFromMs } = runs;
    // Without products, none is left to be read.
    const oldestReadMs = column<[], number>(db, OLDEST_READ).get() ?? LATEST_MS;
    const sought = prepared<object, Flagged<SoughtFacts>>(db, SOUGHT).get({
      nowMs,
      listedFromMs,
      oldestReadMs,
    });
    if (sought === undefined || sought.earliestMs === null || sought.latestMs === null) return null;
    const { earliestMs, latestMs, firstUnlistedMs } = sought;
    const products = column<[], number>(db, PRODUCTS).get() ?? 0;
    return {
      products,
      earliestMs,
      latestMs,
      firstUnlistedMs,
      listedFromMs,
      searchedAtMs: runs.searchedAtMs,
      readAllFromMs: runs.readAllFromMs,
      oldestReadMs,
      isListing: runs.isListing === 1,
      isFirstRead: runs.isFirstRead === 1,
      isPageRead: sought.isPageRead === 1,
      isConfirming: sought.isConfirming === 1,
      hasConclusion: sought.hasConclusion === 1,
    };
  })();
}

/** Further variants follow in the next step. */
const AT_ONCE = 500;

export function searchedInVain(
  db: Db,
  args: { readonly listedFromMs: number; readonly oldestReadMs: number },
): { readonly missed: readonly string[]; readonly missedAgain: readonly string[] } {
  const found = prepared<object, { readonly variantId: string; readonly isAgain: number }>(
    db,
    `SELECT variant_id AS variantId, ${MISSED_ONCE} AS isAgain
     FROM variants WHERE ${IN_VAIN} ORDER BY lookup_at_ms LIMIT ${AT_ONCE}`,
  ).all(args);
  const idsOf = (isAgain: number): string[] =>
    found.filter((row) => row.isAgain === isAgain).map(({ variantId }) => variantId);
  return { missed: idsOf(0), missedAgain: idsOf(1) };
}
