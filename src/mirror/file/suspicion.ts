/**
 * What makes a row suspect: the only definition, from which the views, their counts and the lists of suspect rows are put
 * together. In all of these conditions `c` is a stock level, `v` its variant and `p` its product, if that is known.
 */

/** Rows of products that were not read since may have missed deliveries. */
const TRUSTED_AFTER = '(SELECT trusted_after_ms FROM mirror_state)';

const REQUESTED =
  'EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id AND o.is_suspect = 1)';
const LEVEL_HAS_GAP =
  'EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = c.variant_id AND g.warehouse_id = c.warehouse_id)';
const VARIANT_HAS_GAP = 'EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = v.variant_id)';
const UNEXPLAINED = 'c.unexplained_at_ms IS NOT NULL';
/** A product that is not known, or has no row, was not read either. */
const NOT_READ = `coalesce(p.read_at_ms < ${TRUSTED_AFTER}, 1)`;
const UNREAD_PRODUCT = `p.gone_at_ms IS NULL AND p.read_at_ms < ${TRUSTED_AFTER}`;
const UNMAPPED = 'v.product_id IS NULL';

/** What speaks against a stock level: each by itself makes it suspect. */
export const AGAINST_LEVEL = {
  unknown_product: UNMAPPED,
  unexplained_total: UNEXPLAINED,
  not_read: NOT_READ,
  requested: REQUESTED,
  gap: LEVEL_HAS_GAP,
} as const;

/** What speaks against a variant's total. */
export const AGAINST_TOTAL = {
  not_read: NOT_READ,
  requested: REQUESTED,
  gap: VARIANT_HAS_GAP,
} as const;

const anyOf = (conditions: Readonly<Record<string, string>>): string =>
  `(\n    ${Object.values(conditions).join('\n    OR ')}\n  )`;

/** Whether a stock level is suspect. */
export const SUSPECT_LEVEL = anyOf(AGAINST_LEVEL);

/** Whether a variant's total is suspect. */
export const SUSPECT_TOTAL = anyOf(AGAINST_TOTAL);

const isRead = (row: string): string =>
  `NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = ${row}.product_id AND ${UNREAD_PRODUCT})`;
const VARIANT_IS_READ = isRead('v');

/** Few products are looked up one by one; most of them, as after a downtime, are passed through in the order of their ids. */
const FEW_UNREAD = 5_000;

const levelsOfUnread = (from: string): string => `(
    SELECT coalesce(sum(pc.levels), 0) FROM ${from} ON pc.product_id = p.product_id
    WHERE ${UNREAD_PRODUCT}
  )`;

/**
 * How many stock levels are suspect. Counted from the side of each ground, never from that of the stock, and each level
 * with the first ground that it has. CROSS JOIN: in the order that is written.
 */
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

interface Ground {
  readonly name: string;
  /** Whether any row of a variant has it. */
  readonly ofVariant: string;
  /**
   * Candidates after `@k1, @k2, @variantId`, in that order, by an index: candidates that are never asked for cost
   * nothing.
   */
  readonly candidates: string;
  readonly first: readonly [k1: string, k2: string];
  /** Where a variant that has the ground several times is a candidate several times: with which of them it is listed. */
  readonly listedAt?: string;
}

const BEFORE_ALL = String(Number.MIN_SAFE_INTEGER);

const UNEXPLAINED_SINCE = `
  (SELECT min(c.unexplained_at_ms) FROM stock_levels c WHERE c.variant_id = v.variant_id AND c.gone_at_ms IS NULL)`;

/** Each ground has an index of its own, so that all its rows are found without the rest. In the order of the page's list. */
export const GROUNDS: readonly Ground[] = [
  {
    name: 'request',
    ofVariant: REQUESTED,
    candidates: `
      SELECT o.product_id AS k1, 0 AS k2, v.variant_id AS variantId
      FROM read_requests o LEFT JOIN variants v ON v.product_id = o.product_id AND o.is_suspect = 1
      WHERE o.product_id >= @k1 AND (o.product_id > @k1 OR v.variant_id > @variantId)
      ORDER BY o.product_id, v.variant_id`,
    first: ['', '0'],
  },
  {
    name: 'gap',
    ofVariant: VARIANT_HAS_GAP,
    candidates: `
      SELECT '' AS k1, 0 AS k2, g.variant_id AS variantId FROM gaps g
      WHERE g.variant_id > @variantId ORDER BY g.variant_id`,
    first: ['', '0'],
  },
  {
    name: 'unexplained',
    ofVariant: `${UNEXPLAINED_SINCE} IS NOT NULL`,
    candidates: `
      SELECT c.unexplained_at_ms AS k1, 0 AS k2, c.variant_id AS variantId FROM stock_levels c
      WHERE ${UNEXPLAINED} AND (c.unexplained_at_ms, c.variant_id) > (CAST(@k1 AS INTEGER), @variantId)
      ORDER BY c.unexplained_at_ms, c.variant_id`,
    first: [BEFORE_ALL, '0'],
    listedAt: UNEXPLAINED_SINCE,
  },
  {
    name: 'unread',
    ofVariant: `NOT ${VARIANT_IS_READ}`,
    // In two parts: an index of one column finds the products of one instant, or those of later ones, but not both at
    // once.
    candidates: `
      SELECT p.read_at_ms AS k1, p.rowid AS k2, v.variant_id AS variantId
      FROM products p LEFT JOIN variants v ON v.product_id = p.product_id
      WHERE ${UNREAD_PRODUCT} AND p.read_at_ms = CAST(@k1 AS INTEGER) AND p.rowid >= CAST(@k2 AS INTEGER)
        AND (p.rowid > CAST(@k2 AS INTEGER) OR v.variant_id > @variantId)
      UNION ALL
      SELECT p.read_at_ms, p.rowid, v.variant_id
      FROM products p LEFT JOIN variants v ON v.product_id = p.product_id
      WHERE ${UNREAD_PRODUCT} AND p.read_at_ms > CAST(@k1 AS INTEGER)
      ORDER BY 1, 2, 3`,
    first: [BEFORE_ALL, BEFORE_ALL],
  },
  {
    name: 'unmapped',
    ofVariant: UNMAPPED,
    candidates: `
      SELECT '' AS k1, 0 AS k2, v.variant_id AS variantId FROM variants v
      WHERE ${UNMAPPED} AND v.variant_id > @variantId
      ORDER BY v.variant_id`,
    first: ['', '0'],
  },
];

/** The number of the first ground that a variant has; null: it has none, or is listed elsewhere under this one. */
export const FIRST_GROUND = `CASE
    ${GROUNDS.map(({ ofVariant, listedAt }, n) => `WHEN ${ofVariant} THEN ${listedAt === undefined ? n : `iif(${listedAt} = @k1, ${n}, NULL)`}`).join('\n    ')}
  END`;
