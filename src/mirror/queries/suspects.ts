/** Suspect rows, and how much of what a program may sell can be trusted (docs/http-api.md#private-listener). */
import type { SQL } from 'drizzle-orm';
import { sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { query, queryColumn, select, type Flag } from '../../sqlite/query.ts';
import { liveCounts } from '../file/schema.ts';
import { MOST_COUNTED, NONE_TRUSTED, SUSPECT_VARIANTS, UNLISTED_VARIANTS } from '../file/suspicion.ts';

const FOUND = query(() =>
  select({ variantId: sql<string>`found.variant_id`, rows: sql<number>`found.suspect_rows` }).from(
    sql.raw(`(${SUSPECT_VARIANTS}) AS found`),
  ),
);

const UNLISTED = queryColumn(() =>
  select({ variantId: sql<string>`found.variant_id` }).from(sql.raw(`(${UNLISTED_VARIANTS}) AS found`)),
);

interface Suspects {
  /** Rows of `mirror_sellable` with a ground of their own, whatever the state. */
  readonly rows: number;
  readonly variantIds: ReadonlySet<string>;
}

/** @returns null if the rows are more than `MOST_COUNTED`. */
export function suspects(db: Db): Suspects | null {
  const variantIds = new Set<string>();
  let count = 0;
  for (const { variantId, rows } of FOUND.iterate(db)) {
    if (rows === 0 || variantIds.has(variantId)) continue;
    variantIds.add(variantId);
    count += rows;
    if (count > MOST_COUNTED) return null;
  }
  return { rows: count, variantIds };
}

const TOTAL = query(() => select({ total: liveCounts.sellable }).from(liveCounts));

const IS_DISTRUSTED = queryColumn(() =>
  select({ isDistrusted: sql.raw(NONE_TRUSTED) as SQL<Flag> }).from(liveCounts),
);

/** @returns whether no row is trusted, whatever its own grounds. */
export function isDistrusted(db: Db): boolean {
  return IS_DISTRUSTED.one(db) === 1;
}

export interface Sellable {
  /** Rows of `mirror_sellable`. */
  readonly total: number;
  /** Those with `trusted = 1`; null: more than `MOST_COUNTED` are suspect. */
  readonly trusted: number | null;
}

export function sellable(db: Db, suspect: Suspects | null): Sellable {
  const { total } = TOTAL.one(db);
  if (isDistrusted(db)) return { total, trusted: 0 };
  return { total, trusted: suspect === null ? null : total - suspect.rows };
}

/** With more of them, a scan of the mirror finds some soon. */
const FEW = 2_000;

/** @returns the variants with suspect rows in the view, in SQLite's order of ids; null if there are too many. */
export function fewSuspects(db: Db, view: 'mirror_sellable' | 'mirror_stock'): readonly string[] | null {
  const found = new Set<string>();
  for (const variantId of suspectIds(db, view)) {
    if (found.size === FEW && !found.has(variantId)) return null;
    found.add(variantId);
  }
  return [...found].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

function* suspectIds(db: Db, view: 'mirror_sellable' | 'mirror_stock'): Iterable<string> {
  for (const { variantId } of FOUND.iterate(db)) yield variantId;
  if (view === 'mirror_stock') yield* UNLISTED.iterate(db);
}
