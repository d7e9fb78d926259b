/** Pages of three views (docs/http-api.md#private-listener, docs/reading-the-mirror.md#views). */
import type { SQL } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { and, asc, eq, getViewSelectedFields, gt, gte, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { query, select, type Params, type Query, type RowOf } from '../../sqlite/query.ts';
import { mirrorSellable, mirrorStock, mirrorVariants } from '../file/view-columns.ts';
import { position, type ChangePosition } from './changes.ts';
import { fewSuspects, isDistrusted } from './suspects.ts';

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

interface Page<R> extends ChangePosition {
  readonly rows: readonly R[];
  readonly hasMore: boolean;
}

export interface StockKey {
  readonly variantId: string;
  /** Empty for the total of the variant. */
  readonly warehouseId: string;
}

/** An index finds rows by these columns. */
type Indexed = 'variant_id' | 'sku' | 'product_id';

interface Start extends StockKey {
  /** The value of the indexed column; null to find all rows. */
  readonly sought: string | null;
}

type Rows<Row> = Query<Start, Row>;
type Pages<Row> = Readonly<Record<Indexed | 'all', Rows<Row>>>;

/** @param rowsWhere the query for the rows after the start that satisfy a further condition. */
function pagesOf<Row>(
  columns: Readonly<Record<Indexed, SQLiteColumn>>,
  rowsWhere: (condition: (params: Params<Start>) => SQL | undefined) => Rows<Row>,
): Pages<Row> {
  return {
    all: rowsWhere(() => undefined),
    variant_id: rowsWhere(({ sought }) => eq(columns.variant_id, sought)),
    sku: rowsWhere(({ sought }) => eq(columns.sku, sought)),
    product_id: rowsWhere(({ sought }) => eq(columns.product_id, sought)),
  };
}

/** Also rows of the last variant that the previous page has shown. */
const SELLABLE = pagesOf(mirrorSellable, (condition) =>
  query((params: Params<Start>) =>
    select(getViewSelectedFields(mirrorSellable))
      .from(mirrorSellable)
      .where(and(condition(params), gte(mirrorSellable.variant_id, params.variantId)))
      .orderBy(asc(mirrorSellable.variant_id), asc(mirrorSellable.warehouse_id)),
  ),
);

const STOCK = pagesOf(mirrorStock, (condition) =>
  query((params: Params<Start>) =>
    select(getViewSelectedFields(mirrorStock))
      .from(mirrorStock)
      .where(
        and(
          condition(params),
          sql`(${mirrorStock.variant_id}, ${mirrorStock.warehouse_id})
            > (${params.variantId}, ${params.warehouseId})`,
        ),
      )
      .orderBy(asc(mirrorStock.variant_id), asc(mirrorStock.warehouse_id)),
  ),
);

const VARIANTS = pagesOf(mirrorVariants, (condition) =>
  query((params: Params<Start>) =>
    select(getViewSelectedFields(mirrorVariants))
      .from(mirrorVariants)
      .where(and(condition(params), gt(mirrorVariants.variant_id, params.variantId)))
      .orderBy(asc(mirrorVariants.variant_id)),
  ),
);

type SellableRow = RowOf<typeof SELLABLE.all>;
type StockRow = RowOf<typeof STOCK.all>;
type VariantRow = RowOf<typeof VARIANTS.all>;

type KeyedPage<Row> = Page<Row> & { readonly last: StockKey | null };
type Examined<Row> = Page<Row> & { readonly last: Row | null };

type PageArgs = StockFilter & { readonly after: StockKey; readonly limit: number };

export function sellableRows(db: Db, args: PageArgs): KeyedPage<SellableRow> {
  const { variantId, warehouseId } = args.after;
  // The total has no warehouse, which no SQL comparison places before the others.
  const isSeen = (row: SellableRow): boolean =>
    row.variant_id === variantId && (row.warehouse_id ?? '') <= warehouseId;
  return keyed(pageOf(db, SELLABLE, { ...args, isSeen }));
}

export function stockRows(db: Db, args: PageArgs): KeyedPage<StockRow> {
  return keyed(pageOf(db, STOCK, args));
}

export function variantRows(
  db: Db,
  args: Omit<PageArgs, 'warehouseId' | 'after'> & { readonly after: string },
): Page<VariantRow> & { readonly last: string | null } {
  const after = { variantId: args.after, warehouseId: '' };
  const { last, ...page } = pageOf(db, VARIANTS, { ...args, after });
  return { ...page, last: last && last.variant_id };
}

function keyed<Row extends Pick<SellableRow, 'variant_id' | 'warehouse_id'>>({
  last,
  ...page
}: Examined<Row>): KeyedPage<Row> {
  return {
    ...page,
    last: last && { variantId: last.variant_id, warehouseId: last.warehouse_id ?? '' },
  };
}

type Filtered = Indexed | 'warehouse_id' | 'suspect' | 'trusted';
type Condition = readonly [column: Filtered, value: string | number];
type Seek = readonly [column: Indexed, value: string];

/** Rows examined per call, so that a selective filter does not occupy the thread. */
const LOOK_AT = 5_000;

/** @returns also the last row examined, matching or not: the next page continues after it. */
function pageOf<Row extends { readonly [Column in Filtered]?: string | number | null }>(
  db: Db,
  pages: Pages<Row>,
  args: PageArgs & { readonly isSeen?: (row: Row) => boolean },
): Examined<Row> {
  const { isSeen } = args;
  const all: readonly (readonly [Filtered, string | number | undefined])[] = [
    ['variant_id', args.variantId],
    ['sku', args.sku],
    ['product_id', args.productId],
    ['warehouse_id', args.warehouseId],
    ['suspect', args.suspect],
    ['trusted', args.trusted],
  ];
  const conditions = all.filter((each): each is Condition => each[1] !== undefined);
  const fits = (row: Row): boolean => conditions.every(([column, value]) => row[column] === value);
  return db.transaction(() => {
    const now = position(db);
    const rows: Row[] = [];
    let last: Row | null = null;
    let looked = 0;
    for (const row of candidates(db, pages, args)) {
      if (isSeen?.(row) === true) continue;
      if (rows.length === args.limit || looked === LOOK_AT) return { ...now, rows, last, hasMore: true };
      looked += 1;
      last = row;
      if (fits(row)) rows.push(row);
    }
    return { ...now, rows, last, hasMore: false };
  })();
}

/** Rows that an index finds; they need not match the whole filter. */
function* candidates<Row>(db: Db, pages: Pages<Row>, args: PageArgs): Iterable<Row> {
  const seeks = seeksOf(db, args);
  if (seeks === null) yield* pages.all.iterate(db, { ...args.after, sought: null });
  else for (const [column, sought] of seeks) yield* pages[column].iterate(db, { ...args.after, sought });
}

/** @returns null if no index helps. */
function seeksOf(db: Db, filter: StockFilter): readonly Seek[] | null {
  const seek = seekOf(filter);
  const suspects = seek === null ? suspectsOf(db, filter) : null;
  // In the order of the view, which the next page continues.
  const ids = filter.variantIds?.toSorted() ?? suspects;
  return ids?.map((id): Seek => ['variant_id', id]) ?? (seek && [seek]);
}

function seekOf({ variantId, sku, productId }: StockFilter): Seek | null {
  if (variantId !== undefined) return ['variant_id', variantId];
  if (sku !== undefined) return ['sku', sku];
  if (productId !== undefined) return ['product_id', productId];
  return null;
}

/** @returns null if none are wanted, or too many. */
function suspectsOf(db: Db, { suspect, trusted }: StockFilter): readonly string[] | null {
  if (suspect === 1) return fewSuspects(db, 'mirror_stock');
  return trusted === 0 && !isDistrusted(db) ? fewSuspects(db, 'mirror_sellable') : null;
}
