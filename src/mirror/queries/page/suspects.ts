/**
 * What is under suspicion, for the ops page: page by page, without reading the rest of the mirror. The list goes
 * through one ground for suspicion after the other, and shows a variant under the first that it has.
 */
import type { Db } from '../../../sqlite/open.ts';
import { prepared } from '../../../sqlite/prepared.ts';
import { IN_WAREHOUSE, lowerCase, NAMED, type StockCursor, type StockSearch } from './filters.ts';
import { FIRST_GROUND, GROUNDS } from '../../file/suspicion.ts';
import type { Candidate } from '../suspect-grounds.ts';

interface FoundSuspects {
  readonly variantIds: readonly string[];
  readonly next: StockCursor | null;
  readonly isPartial: boolean;
}

/** The number of the first ground that a variant has, when the search asks for it. */
const FIRST = `
  SELECT ${FIRST_GROUND} FROM variants v
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
  for (const [number, { name, candidates, first }] of GROUNDS.entries()) {
    if (number < start) continue;
    const [k1 = first[0], k2 = first[1], variantId = ''] = name === after?.list ? after.key : [];
    let last: readonly string[] | null = null;
    for (const row of prepared<object, Candidate>(db, candidates).iterate({ k1, k2, variantId })) {
      if (last !== null && (variantIds.length === limit || looked === LOOKED_AT)) {
        return { variantIds, next: { list: name, key: last }, isPartial: variantIds.length < limit };
      }
      looked += 1;
      last = [String(row.k1), String(row.k2), row.variantId ?? ''];
      if (row.variantId === null || row.variantId === variantIds.at(-1)) continue;
      const args = { ...wanted, variantId: row.variantId, k1: row.k1 };
      if (prepared<object, number | null>(db, FIRST).pluck().get(args) !== number) continue;
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
