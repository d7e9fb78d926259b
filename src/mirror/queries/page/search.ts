/** The page's search by id, SKU, request or order. Every query uses an index. */
import type { Db } from '../../../sqlite/open.ts';
import { column } from '../../../sqlite/prepared.ts';
import { SHARE_BITS } from '../../file/statements.ts';
import { sharesNewestFirst } from '../changes.ts';

type SearchHit =
  | { readonly kind: 'variant'; readonly variantId: string }
  | { readonly kind: 'stock' }
  | { readonly kind: 'delivery'; readonly seq: number };

/** Forty million changes, in ten milliseconds. */
const SHARES_LOOKED_AT = 5_000;

const VARIANTS = `
  SELECT variant_id FROM variants WHERE variant_id = @text
  UNION SELECT variant_id FROM variants WHERE sku IN (@text, @typed)
  UNION SELECT variant_id FROM variants WHERE product_id = @text LIMIT 2`;

/** The feed's indexes hold the last four characters of both ids. */
const DELIVERY = `
  SELECT inbox_seq FROM changes
  WHERE seq >> ${SHARE_BITS} = @share AND source = 'webhook'
    AND (substr(request_id, -4) = substr(@text, -4) AND request_id = @text
      OR substr(order_id, -4) = substr(@text, -4) AND order_id = @text)
  ORDER BY seq DESC LIMIT 1`;

/** @param typed with the spaces around it, which a SKU may have too. */
export function search(db: Db, { typed }: { readonly typed: string }): SearchHit | null {
  const text = typed.trim();
  const variants = column<object, string>(db, VARIANTS).all({ text, typed });
  const [variantId] = variants;
  if (variantId !== undefined)
    return variants.length > 1 ? { kind: 'stock' } : { kind: 'variant', variantId };
  let looked = 0;
  for (const share of sharesNewestFirst(db)) {
    const seq = column<object, number>(db, DELIVERY).get({ share, text });
    if (seq !== undefined) return { kind: 'delivery', seq };
    looked += 1;
    if (looked === SHARES_LOOKED_AT) break;
  }
  return null;
}
