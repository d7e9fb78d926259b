/**
 * What is under suspicion, for the ops page: page by page, without a look at the rest of the mirror. Each ground for
 * suspicion has an index of its own, so the list goes through one ground after the other, and shows a variant with the
 * first that it has.
 */
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';
import { IN_WAREHOUSE, lowerCase, NAMED } from './page-filters.ts';
import type { StockCursor, StockSearch } from './page-stock.ts';

export interface FoundSuspects {
  readonly variantIds: readonly string[];
  readonly next: StockCursor | null;
  readonly isPartial: boolean;
}

interface Candidate {
  readonly k1: string | number;
  readonly k2: number;
  /** Null: the ground names a product without variants, or no doubt at all. */
  readonly variantId: string | null;
}

interface Ground {
  readonly name: string;
  /** Candidates after `@k1, @k2, @variantId`, in that order, by an index: those that are never asked for cost nothing. */
  readonly sql: string;
  readonly first: readonly [k1: string, k2: string];
}

const BEFORE_ALL = String(Number.MIN_SAFE_INTEGER);

/** In the order of the list. */
const GROUNDS: readonly Ground[] = [
  {
    name: 'doubt',
    sql: `
      SELECT o.product_id AS k1, 0 AS k2, v.variant_id AS variantId
      FROM obligations o LEFT JOIN variants v ON v.product_id = o.product_id AND o.doubt = 1
      WHERE o.product_id >= @k1 AND (o.product_id > @k1 OR v.variant_id > @variantId)
      ORDER BY o.product_id, v.variant_id`,
    first: ['', '0'],
  },
  {
    name: 'gap',
    sql: `
      SELECT '' AS k1, 0 AS k2, g.variant_id AS variantId FROM gaps g
      WHERE g.variant_id > @variantId ORDER BY g.variant_id`,
    first: ['', '0'],
  },
  {
    name: 'unexplained',
    sql: `
      SELECT c.unexplained_at_ms AS k1, 0 AS k2, c.variant_id AS variantId FROM cells c
      WHERE c.unexplained_at_ms IS NOT NULL
        AND (c.unexplained_at_ms, c.variant_id) > (CAST(@k1 AS INTEGER), @variantId)
      ORDER BY c.unexplained_at_ms, c.variant_id`,
    first: [BEFORE_ALL, '0'],
  },
  {
    name: 'unread',
    // In two parts: an index of one column finds the products of one instant, or those of later ones, but not both at once.
    sql: `
      SELECT p.read_at_ms AS k1, p.rowid AS k2, v.variant_id AS variantId
      FROM products p LEFT JOIN variants v ON v.product_id = p.product_id
      WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)
        AND p.read_at_ms = CAST(@k1 AS INTEGER) AND p.rowid >= CAST(@k2 AS INTEGER)
        AND (p.rowid > CAST(@k2 AS INTEGER) OR v.variant_id > @variantId)
      UNION ALL
      SELECT p.read_at_ms, p.rowid, v.variant_id
      FROM products p LEFT JOIN variants v ON v.product_id = p.product_id
      WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)
        AND p.read_at_ms > CAST(@k1 AS INTEGER)
      ORDER BY 1, 2, 3`,
    first: [BEFORE_ALL, BEFORE_ALL],
  },
  {
    name: 'unmapped',
    sql: `
      SELECT '' AS k1, 0 AS k2, v.variant_id AS variantId FROM variants v
      WHERE v.product_id IS NULL AND v.variant_id > @variantId
      ORDER BY v.variant_id`,
    first: ['', '0'],
  },
];

const UNEXPLAINED_SINCE = `
  SELECT min(unexplained_at_ms) FROM cells WHERE variant_id = v.variant_id AND gone_at_ms IS NULL`;

/** The number of the first ground that a variant has, when the search asks for it. */
const FIRST_GROUND = `
  SELECT CASE
    WHEN EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = v.product_id AND o.doubt = 1) THEN 0
    WHEN EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = v.variant_id) THEN 1
    -- One with several such cells stands with the first of them.
    WHEN (${UNEXPLAINED_SINCE}) IS NOT NULL THEN CASE WHEN (${UNEXPLAINED_SINCE}) = @k1 THEN 2 END
    WHEN v.product_id IS NOT NULL THEN 3
    ELSE 4
  END
  FROM variants v
  WHERE v.variant_id = @variantId AND v.gone_at_ms IS NULL AND ${IN_WAREHOUSE}
    AND (v.variant_id = @text OR v.product_id = @text OR ${NAMED})`;

/** Candidates that one page may look at. */
const LOOKED_AT = 1_500;

export function findSuspects(
  db: Db,
  { text, warehouseId, after, limit }: Omit<StockSearch, 'suspect'>,
): FoundSuspects {
  const wanted = { text, lower: lowerCase(text), warehouseId };
  const variantIds: string[] = [];
  let looked = 0;
  const start = Math.max(
    0,
    GROUNDS.findIndex(({ name }) => name === after?.list),
  );
  for (const [number, { name, sql, first }] of GROUNDS.entries()) {
    if (number < start) continue;
    const [k1 = first[0], k2 = first[1], variantId = ''] = name === after?.list ? after.key : [];
    let last: readonly string[] | null = null;
    for (const row of prepared<object, Candidate>(db, sql).iterate({ k1, k2, variantId })) {
      if (last !== null && (variantIds.length === limit || looked === LOOKED_AT)) {
        return { variantIds, next: { list: name, key: last }, isPartial: variantIds.length < limit };
      }
      looked += 1;
      last = [String(row.k1), String(row.k2), row.variantId ?? ''];
      if (row.variantId === null || row.variantId === variantIds.at(-1)) continue;
      const args = { ...wanted, variantId: row.variantId, k1: row.k1 };
      if (prepared<object, number | null>(db, FIRST_GROUND).pluck().get(args) !== number) continue;
      variantIds.push(row.variantId);
    }
    if (variantIds.length === limit) return { variantIds, next: startOf(number + 1), isPartial: false };
  }
  return { variantIds, next: null, isPartial: false };
}

/** Null: after the last ground there is nothing. */
function startOf(number: number): StockCursor | null {
  const ground = GROUNDS[number];
  return ground === undefined ? null : { list: ground.name, key: [] };
}
