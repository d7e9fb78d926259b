/** Pages of three views (docs/http-api.md#private-listener, docs/reading-the-mirror.md#views). */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { position, type Position, type ViewRow } from './changes.ts';
import { fewSuspects, isDistrusted } from '../file/suspicion.ts';

type VariantRow = ViewRow & { readonly variant_id: string };
type StockRow = VariantRow & { readonly warehouse_id: string };
type SellableRow = VariantRow & { readonly warehouse_id: string | null };

/** An absent value matches any. */
export interface StockFilter {
  readonly warehouseId?: string | undefined;
  readonly variantId?: string | undefined;
  /** Any of these. */
  readonly variantIds?: readonly string[] | undefined;
  readonly sku?: string | undefined;
  readonly productId?: string | undefined;
  readonly suspect?: 0 | 1 | undefined;
  readonly trusted?: 0 | 1 | undefined;
}

interface Page<R> extends Position {
  readonly rows: readonly R[];
  readonly hasMore: boolean;
}

export interface StockKey {
  readonly variantId: string;
  /** Empty for the total of the variant. */
  readonly warehouseId: string;
}

type KeyedPage<R> = Page<R> & { readonly last: StockKey | null };
type Examined<R> = Page<R> & { readonly last: R | null };

export function sellableRows(
  db: Db,
  args: StockFilter & { readonly after: StockKey; readonly limit: number },
): KeyedPage<SellableRow> {
  const { variantId, warehouseId } = args.after;
  const view = {
    name: 'mirror_sellable',
    from: 'variant_id >= ?',
    after: [variantId],
    order: 'variant_id, warehouse_id',
    // The total has no warehouse, which no SQL comparison places before the others.
    isSeen: (row: SellableRow) => row.variant_id === variantId && (row.warehouse_id ?? '') <= warehouseId,
  };
  return keyed(pageOf<SellableRow>(db, view, args));
}

function keyed<Row extends SellableRow>({ last, ...page }: Examined<Row>): KeyedPage<Row> {
  return {
    ...page,
    last: last && { variantId: last.variant_id, warehouseId: last.warehouse_id ?? '' },
  };
}

export function stockRows(
  db: Db,
  args: StockFilter & { readonly after: StockKey; readonly limit: number },
): KeyedPage<StockRow> {
  const { variantId, warehouseId } = args.after;
  const view = {
    name: 'mirror_stock',
    from: '(variant_id, warehouse_id) > (?, ?)',
    after: [variantId, warehouseId],
    order: 'variant_id, warehouse_id',
  };
  return keyed(pageOf<StockRow>(db, view, args));
}

export function variantRows(
  db: Db,
  args: Omit<StockFilter, 'warehouseId'> & { readonly after: string; readonly limit: number },
): Page<VariantRow> & { readonly last: string | null } {
  const view = {
    name: 'mirror_variants',
    from: '(variant_id) > (?)',
    after: [args.after],
    order: 'variant_id',
  };
  const { last, ...page } = pageOf<VariantRow>(db, view, args);
  return { ...page, last: last && last.variant_id };
}

interface View<Row> {
  readonly name: string;
  /** Condition for the rows after `after`, and perhaps some before, which `isSeen` skips. */
  readonly from: string;
  readonly after: readonly string[];
  readonly order: string;
  readonly isSeen?: (row: Row) => boolean;
}

type Condition = [column: string, value: string | number];

interface Sought {
  readonly conditions: readonly Condition[];
  readonly variantIds: readonly string[] | undefined;
}

/** Rows examined per call, so that a selective filter does not occupy the thread. */
const LOOK_AT = 5_000;

/** @returns also the last row examined, matching or not: the next page continues after it. */
function pageOf<Row extends ViewRow>(
  db: Db,
  view: View<Row>,
  filter: StockFilter & { readonly limit: number },
): Examined<Row> {
  // The first condition may use an index; the others are checked row by row.
  const all: [string, string | number | undefined][] = [
    ['variant_id', filter.variantId],
    ['sku', filter.sku],
    ['product_id', filter.productId],
    ['warehouse_id', filter.warehouseId],
    ['suspect', filter.suspect],
    ['trusted', filter.trusted],
  ];
  const conditions = all.filter((each): each is Condition => each[1] !== undefined);
  const fits = (row: Row): boolean => conditions.every(([column, value]) => row[column] === value);
  return db.transaction(() => {
    const now = position(db);
    const rows: Row[] = [];
    let last: Row | null = null;
    let looked = 0;
    for (const row of candidates<Row>(db, view, { conditions, variantIds: filter.variantIds })) {
      if (view.isSeen?.(row) === true) continue;
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
  { name, from, after, order }: View<Row>,
  { conditions, variantIds }: Sought,
): Iterable<Row> {
  const [first] = conditions;
  const isIndexed = first !== undefined && ['variant_id', 'sku', 'product_id'].includes(first[0]);
  const suspects = !isIndexed && wantsSuspects(db, conditions) ? fewSuspects(db) : null;
  // In the order of the view, which the next page continues.
  const ids = variantIds?.toSorted() ?? suspects;
  const seeks = ids?.map((id): Condition => ['variant_id', id]) ?? [isIndexed ? first : null];
  for (const seek of seeks) {
    const sql = `
      SELECT * FROM ${name} WHERE ${seek === null ? '' : `${seek[0]} = ? AND`} ${from}
      ORDER BY ${order}`;
    yield* prepared<unknown[], Row>(db, sql).iterate(...(seek === null ? [] : [seek[1]]), ...after);
  }
}

function wantsSuspects(db: Db, conditions: readonly Condition[]): boolean {
  return conditions.some(
    ([column, value]) =>
      (column === 'suspect' && value === 1) || (column === 'trusted' && value === 0 && !isDistrusted(db)),
  );
}
