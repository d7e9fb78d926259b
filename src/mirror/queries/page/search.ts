/** The page's search by id, SKU, request or order. Every query uses an index. */
import type { SQL } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { and, desc, eq, inArray, or, sql } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import { queryColumn, select, type Params } from '../../../sqlite/query.ts';
import { changes, variants } from '../../file/schema.ts';
import { SHARE, sharesNewestFirst } from '../changes.ts';

type SearchHit =
  | { readonly kind: 'variant'; readonly variantId: string }
  | { readonly kind: 'stock' }
  | { readonly kind: 'delivery'; readonly seq: number };

/** Forty million changes, in ten milliseconds. */
const SHARES_LOOKED_AT = 5_000;

const VARIANTS = queryColumn((params: Params<{ text: string; typed: string }>) => {
  const idsWhere = (condition: SQL) =>
    select({ variantId: variants.variantId }).from(variants).where(condition);
  return idsWhere(eq(variants.variantId, params.text))
    .union(idsWhere(inArray(variants.sku, [params.text, params.typed])))
    .union(idsWhere(eq(variants.productId, params.text)))
    .limit(2);
});

const DELIVERY = queryColumn((params: Params<{ share: number; text: string }>) => {
  /** The feed's indexes hold the last four characters of both ids. */
  const isText = (column: SQLiteColumn) =>
    and(sql`substr(${column}, -4) = substr(${params.text}, -4)`, eq(column, params.text));
  return select({ seq: changes.inboxSeq })
    .from(changes)
    .where(
      and(
        eq(SHARE, params.share),
        eq(changes.source, 'webhook'),
        or(isText(changes.requestId), isText(changes.orderId)),
      ),
    )
    .orderBy(desc(changes.seq))
    .limit(1);
});

/** @param typed with the spaces around it, which a SKU may have too. */
export function search(db: Db, { typed }: { readonly typed: string }): SearchHit | null {
  const text = typed.trim();
  const [variantId, ...others] = VARIANTS.all(db, { text, typed });
  if (variantId !== undefined) return others.length > 0 ? { kind: 'stock' } : { kind: 'variant', variantId };
  let looked = 0;
  for (const share of sharesNewestFirst(db)) {
    const seq = DELIVERY.get(db, { share, text }) ?? null;
    if (seq !== null) return { kind: 'delivery', seq };
    looked += 1;
    if (looked === SHARES_LOOKED_AT) break;
  }
  return null;
}
