/** Pages of two views (docs/http-api.md#private-listener, docs/reading-the-mirror.md#views). */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { position, type Position, type ViewRow } from './changes.ts';
import { fewSuspects } from '../file/suspicion.ts';

type VariantRow = ViewRow & { readonly variant_id: string };
type StockRow = VariantRow & { readonly warehouse_id: string };

/** An absent value matches any. */
export interface StockFilter {
  readonly warehouseId?: string | undefined;
  readonly variantId?: string | undefined;
  readonly sku?: string | undefined;
  readonly productId?: string | undefined;
  readonly suspect?: 0 | 1 | undefined;
}

interface Page<R> extends Position {
  readonly rows: readonly R[];
  readonly hasMore: boolean;
}

export interface StockKey {
  readonly variantId: string;
  readonly warehouseId: string;
}

export function stockRows(
  db: Db,
  args: StockFilter & { readonly after: StockKey; readonly limit: number },
): Page<StockRow> & { readonly last: StockKey | null } {
  const { variantId, warehouseId } = args.after;
  const view = { name: 'mirror_stock', key: 'variant_id, warehouse_id', after: [variantId, warehouseId] };
  const { last, ...page } = pageOf<StockRow>(db, view, args);
  return { ...page, last: last && { variantId: last.variant_id, warehouseId: last.warehouse_id } };
}

export function variantRows(
  db: Db,
  args: Omit<StockFilter, 'warehouseId'> & { readonly after: string; readonly limit: number },
): Page<VariantRow> & { readonly last: string | null } {
  const view = { name: 'mirror_variants', key: 'variant_id', after: [args.after] };
  const { last, ...page } = pageOf<VariantRow>(db, view, args);
  return { ...page, last: last && last.variant_id };
}

interface View {
  readonly name: string;
  readonly key: string;
  readonly after: readonly string[];
}

type Condition = [column: string, value: string | number];

/** Rows examined per call, so that a selective filter does not occupy the thread. */
const LOOK_AT = 5_000;

/** @returns also the last row examined, matching or not: the next page continues after it. */
function pageOf<Row extends ViewRow>(
  db: Db,
  view: View,
  filter: StockFilter & { readonly limit: number },
): Page<Row> & { readonly last: Row | null } {
  // The first condition may use an index; the others are checked row by row.
  const all: [string, string | number | undefined][] = [
    ['variant_id', filter.variantId],
    ['sku', filter.sku],
    ['product_id', filter.productId],
    ['warehouse_id', filter.warehouseId],
    ['suspect', filter.suspect],
  ];
  const conditions = all.filter((each): each is Condition => each[1] !== undefined);
  const fits = (row: Row): boolean => conditions.every(([column, value]) => row[column] === value);
  return db.transaction(() => {
    const now = position(db);
    const rows: Row[] = [];
    let last: Row | null = null;
    let looked = 0;
    for (const row of candidates<Row>(db, view, conditions)) {
      if (rows.length === filter.limit || looked === LOOK_AT) return { ...now, rows, last, hasMore: true };
      looked += 1;
      last = row;
      if (fits(row)) rows.push(row);
    }
    return { ...now, rows, last, hasMore: false };
  })();
}

function* candidates<Row>(
  db: Db,
  { name, key, after }: View,
  conditions: readonly Condition[],
): Iterable<Row> {
  const [first] = conditions;
  const isIndexed = first !== undefined && ['variant_id', 'sku', 'product_id'].includes(first[0]);
  const isSuspect = conditions.some(([column, value]) => column === 'suspect' && value === 1);
  const suspects = isSuspect && !isIndexed ? fewSuspects(db) : null;
  const seeks = suspects?.map((id): Condition => ['variant_id', id]) ?? [isIndexed ? first : null];
  for (const seek of seeks) {
    const sql = `SELECT * FROM ${name} WHERE ${seek === null ? '' : `${seek[0]} = ? AND`} (${key}) > (${after.map(() => '?').join(', ')})
      ORDER BY ${key}`;
    yield* prepared<unknown[], Row>(db, sql).iterate(...(seek === null ? [] : [seek[1]]), ...after);
  }
}
