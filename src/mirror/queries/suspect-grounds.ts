import type { Db } from '../../sqlite/open.ts';
import { column } from '../../sqlite/prepared.ts';
import { UNEXPLAINED, UNREAD_PRODUCT } from '../file/suspicion.ts';

/** With more suspects, a scan of the mirror finds some soon. */
const FEW = 2_000;

/** Every ground uses its index. null rows (no variant, nothing suspect) count towards the limit: it bounds the work. */
const CANDIDATES = `
  SELECT v.variant_id FROM read_requests o LEFT JOIN variants v ON v.product_id = o.product_id AND o.is_suspect = 1
  WHERE o.product_id > ''
  UNION ALL SELECT variant_id FROM gaps WHERE variant_id > ''
  UNION ALL SELECT c.variant_id FROM stock_levels c WHERE ${UNEXPLAINED}
  UNION ALL SELECT v.variant_id FROM products p LEFT JOIN variants v ON v.product_id = p.product_id WHERE ${UNREAD_PRODUCT}
  UNION ALL SELECT variant_id FROM variants WHERE product_id IS NULL
  LIMIT ${FEW + 1}`;

/** @returns all variants that may have suspect rows, in SQLite's order of ids; null if there are too many. */
export function fewSuspects(db: Db): readonly string[] | null {
  const found = column<[], string | null>(db, CANDIDATES).all();
  if (found.length > FEW) return null;
  const ids = new Set(found.filter((id) => id !== null));
  return [...ids].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}
