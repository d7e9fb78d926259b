/** The page's search: the one thing that an id, a SKU, a request or an order names. Each query asks an index. */
import type { Db } from '../../../sqlite/open.ts';
import { prepared } from '../../../sqlite/prepared.ts';
import { SHARE_BITS } from '../../file/statements.ts';
import { sharesNewestFirst } from '../changes.ts';

export type SearchHit =
  | { readonly kind: 'variant'; readonly variantId: string }
  /** Several variants. */
  | { readonly kind: 'stock' }
  | { readonly kind: 'delivery'; readonly seq: number };

/** Shares of the feed that are searched: forty million changes, in ten milliseconds. */
const SHARES_LOOKED_AT = 5_000;

const VARIANTS = `
  SELECT variant_id FROM variants WHERE variant_id = @text
  UNION SELECT variant_id FROM variants WHERE sku = @text
  UNION SELECT variant_id FROM variants WHERE product_id = @text LIMIT 2`;

/** The feed is indexed by the last four characters of both ids. */
const DELIVERY = `
  SELECT inbox_seq FROM changes
  WHERE seq >> ${SHARE_BITS} = @share AND source = 'webhook'
    AND (substr(request_id, -4) = substr(@text, -4) AND request_id = @text
      OR substr(order_id, -4) = substr(@text, -4) AND order_id = @text)
  ORDER BY seq DESC LIMIT 1`;

/** @returns null if nothing has this name. */
export function search(db: Db, { text }: { readonly text: string }): SearchHit | null {
  const variants = prepared<object, string>(db, VARIANTS).pluck().all({ text });
  const [variantId] = variants;
  if (variantId !== undefined)
    return variants.length > 1 ? { kind: 'stock' } : { kind: 'variant', variantId };
  let looked = 0;
  for (const share of sharesNewestFirst(db)) {
    const seq = prepared<object, number>(db, DELIVERY).pluck().get({ share, text });
    if (seq !== undefined) return { kind: 'delivery', seq };
    looked += 1;
    if (looked === SHARES_LOOKED_AT) break;
  }
  return null;
}
