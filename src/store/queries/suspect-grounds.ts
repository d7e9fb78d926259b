/**
 * Why rows are under suspicion: each ground has an index of its own, so that all its rows are found without the rest.
 */
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';

export interface Candidate {
  readonly k1: string | number;
  readonly k2: number;
  /** Null: the ground names a product without variants, or a re-read request without suspicion. */
  readonly variantId: string | null;
}

interface Ground {
  readonly name: string;
  /**
   * Candidates after `@k1, @k2, @variantId`, in that order, by an index: candidates that are never asked for cost
   * nothing.
   */
  readonly sql: string;
  readonly first: readonly [k1: string, k2: string];
}

const BEFORE_ALL = String(Number.MIN_SAFE_INTEGER);

/** In the order of the page's list. */
export const GROUNDS: readonly Ground[] = [
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
    // In two parts: an index of one column finds the products of one instant, or those of later ones, but not both at
    // once.
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

/** Beyond this many the mirror is searched row by row: that soon shows some. */
const FEW = 2_000;

/** @returns all variants that may be under suspicion, in the order of their ids; null: too many. */
export function fewSuspects(db: Db): readonly string[] | null {
  const found = new Set<string>();
  let looked = 0;
  for (const { sql, first } of GROUNDS) {
    const [k1, k2] = first;
    for (const { variantId } of prepared<object, Candidate>(db, sql).iterate({ k1, k2, variantId: '' })) {
      if (looked === FEW) return null;
      looked += 1;
      if (variantId !== null) found.add(variantId);
    }
  }
  return [...found].toSorted(inOrderOfBytes);
}

/** As SQLite orders texts. */
function inOrderOfBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
