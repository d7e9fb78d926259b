/** Which products of a list, such as a page of the store's catalogue, need something. */
import { and, eq, isNotNull, isNull, lt, not, or } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { existsIn, LISTED_ID, listOf, queryColumn, select, type Params } from '../../sqlite/query.ts';
import { products } from '../file/schema.ts';

const UNREAD_SINCE = queryColumn((params: Params<{ idsJson: string; sinceMs: number }>) =>
  select({ productId: LISTED_ID })
    .from(listOf(params.idsJson))
    .leftJoin(products, eq(products.productId, LISTED_ID))
    .where(or(isNull(products.productId), lt(products.readAtMs, params.sinceMs))),
);

/** @returns those of these products that were not read since the instant, or never. */
export function unreadSince(
  db: Db,
  args: { readonly productIds: readonly string[]; readonly sinceMs: number },
): string[] {
  return UNREAD_SINCE.all(db, { idsJson: JSON.stringify(args.productIds), sinceMs: args.sinceMs });
}

const NOT_MIRRORED = queryColumn((params: Params<{ idsJson: string }>) =>
  select({ productId: LISTED_ID })
    .from(listOf(params.idsJson))
    .where(not(existsIn(products, and(eq(products.productId, LISTED_ID), isNull(products.goneAtMs))))),
);

/** @returns those of these products that the mirror does not have. */
export function notMirrored(db: Db, args: { readonly productIds: readonly string[] }): string[] {
  return NOT_MIRRORED.all(db, { idsJson: JSON.stringify(args.productIds) });
}

const ABSENT = queryColumn((params: Params<{ idsJson: string }>) =>
  select({ productId: LISTED_ID })
    .from(listOf(params.idsJson))
    .leftJoin(products, eq(products.productId, LISTED_ID))
    .where(or(isNull(products.productId), isNotNull(products.goneAtMs), isNotNull(products.missingAtMs))),
);

/** @returns those of these products that the store did not show when they were last read. */
export function absentProducts(db: Db, args: { readonly productIds: readonly string[] }): string[] {
  return ABSENT.all(db, { idsJson: JSON.stringify(args.productIds) });
}
