/** The only definition of a suspect row. `c` is a stock level, `v` its variant and `p` its product, if known. */
import type { Db } from '../../sqlite/open.ts';
import { column } from '../../sqlite/prepared.ts';

const TRUSTED_AFTER = '(SELECT trusted_after_ms FROM mirror_state)';

const REQUESTED =
  'EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id AND o.is_suspect = 1)';
const LEVEL_HAS_GAP =
  'EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = c.variant_id AND g.warehouse_id = c.warehouse_id)';
const VARIANT_HAS_GAP = 'EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = v.variant_id)';
export const UNEXPLAINED = 'c.unexplained_at_ms IS NOT NULL';
const NOT_READ = `coalesce(p.read_at_ms < ${TRUSTED_AFTER}, 1)`;
const UNREAD_PRODUCT = `p.gone_at_ms IS NULL AND p.read_at_ms < ${TRUSTED_AFTER}`;
const UNMAPPED = 'v.product_id IS NULL';

const anyOf = (...conditions: readonly string[]): string => `(\n    ${conditions.join('\n    OR ')}\n  )`;

export const SUSPECT_LEVEL = anyOf(UNMAPPED, UNEXPLAINED, NOT_READ, REQUESTED, LEVEL_HAS_GAP);

export const SUSPECT_TOTAL = anyOf(NOT_READ, REQUESTED, VARIANT_HAS_GAP);

const isRead = (row: string): string =>
  `NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = ${row}.product_id AND ${UNREAD_PRODUCT})`;
const VARIANT_IS_READ = isRead('v');

/** Look up few unread products one by one; scan in id order when there are many, as after a downtime. */
const FEW_UNREAD = 5_000;

const levelsOfUnread = (from: string): string => `(
    SELECT coalesce(sum(pc.levels), 0) FROM ${from} ON pc.product_id = p.product_id
    WHERE ${UNREAD_PRODUCT}
  )`;

/** Each level counts with its first ground, starting from the grounds, never from the stock (CROSS JOIN). */
export const SUSPECT_COUNT = `CASE WHEN (
    SELECT count(*) FROM (SELECT 1 FROM products p WHERE ${UNREAD_PRODUCT} LIMIT ${FEW_UNREAD + 1})
  ) <= ${FEW_UNREAD} THEN ${levelsOfUnread('products p CROSS JOIN product_stock_levels pc')} ELSE ${levelsOfUnread('product_stock_levels pc CROSS JOIN products p')} END + (
    SELECT coalesce(sum(pc.levels), 0) FROM read_requests o CROSS JOIN product_stock_levels pc ON pc.product_id = o.product_id
    WHERE o.is_suspect = 1 AND ${isRead('o')}
  ) + (
    SELECT count(DISTINCT g.variant_id || '/' || g.warehouse_id) FROM gaps g
    CROSS JOIN variants v ON v.variant_id = g.variant_id
    WHERE v.product_id IS NOT NULL AND NOT ${REQUESTED} AND ${VARIANT_IS_READ}
  ) + (
    SELECT count(*) FROM stock_levels c CROSS JOIN variants v ON v.variant_id = c.variant_id
    WHERE ${UNEXPLAINED} AND c.gone_at_ms IS NULL AND v.product_id IS NOT NULL
      AND NOT ${REQUESTED} AND ${VARIANT_IS_READ} AND NOT ${LEVEL_HAS_GAP}
  ) + (
    SELECT count(*) FROM variants v CROSS JOIN stock_levels c ON c.variant_id = v.variant_id
    WHERE ${UNMAPPED} AND c.gone_at_ms IS NULL
  )`;

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
