/** Which products of a list, such as a page of the store's catalogue, need something. */
import { eq, isNotNull, isNull, lt, or } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { LISTED_ID, listOf, queryColumn, select, type Params } from '../../sqlite/query.ts';
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

const ABSENT = queryColumn((params: Params<{ idsJson: string }>) =>
  select({ productId: LISTED_ID })
    .from(listOf(params.idsJson))
    .leftJoin(products, eq(products.productId, LISTED_ID))
    .where(or(isNull(products.productId), isNotNull(products.goneAtMs), isNotNull(products.missingAtMs))),
);

/** @returns those of these products that the mirror does not have, or that their last read did not show. */
export function absentProducts(db: Db, args: { readonly productIds: readonly string[] }): string[] {
  return ABSENT.all(db, { idsJson: JSON.stringify(args.productIds) });
}
