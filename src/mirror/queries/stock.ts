/**
 * Rows of the public views `mirror_stock` and `mirror_variants`, page by page (docs/http-api.md#private-listener,
 * docs/reading-the-mirror.md#views).
 */
import type { Source, VariantKind } from '../../core/model.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { position, type Position } from './changes.ts';
import { fewSuspects } from './suspect-grounds.ts';
import { takePortion } from './scan.ts';

export interface StockRow {
  readonly variant_id: string;
  readonly warehouse_id: string;
  readonly product_id: string | null;
  readonly sku: string | null;
  readonly product_name: string | null;
  readonly variant_name: string;
  readonly available_qty: number;
  readonly on_hand: number | null;
  readonly reserved_qty: number | null;
  readonly source: Source;
  readonly as_of: number;
  readonly on_hand_as_of: number | null;
  readonly verified_at: number | null;
  readonly suspect: 0 | 1;
  readonly change_seq: number;
  readonly warehouse_name: string | null;
}

export interface VariantRow {
  readonly variant_id: string;
  readonly product_id: string;
  readonly sku: string | null;
  readonly upc: string | null;
  readonly product_name: string | null;
  readonly variant_name: string;
  readonly kind: VariantKind;
  readonly available_qty: number;
  readonly on_hand: number | null;
  readonly reserved_qty: number | null;
  readonly allow_negative_stock: 0 | 1;
  readonly price_json: string | null;
  readonly cost: string | null;
  readonly as_of: number;
  readonly verified_at: number | null;
  readonly suspect: 0 | 1;
  readonly change_seq: number;
}

/** The values that rows must have; absent: any. */
export interface StockFilter {
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

/** Rows in the order of variant and warehouse, after `after`. */
export function stockRows(
  db: Db,
  args: StockFilter & {
    readonly warehouseId?: string | undefined;
    readonly after: StockKey;
    readonly limit: number;
  },
): Page<StockRow> & { readonly last: StockKey | null } {
  const sqlOf = (search: StockFilter): string =>
    `SELECT * FROM mirror_stock WHERE ${seek(search)} (variant_id, warehouse_id) > (@afterVariantId, @afterWarehouseId)
     ORDER BY variant_id, warehouse_id`;
  const after = { afterVariantId: args.after.variantId, afterWarehouseId: args.after.warehouseId };
  return db.transaction(() => {
    const { rows, last, hasMore } = takePortion(found<StockRow>(db, searchesOf(db, args), sqlOf, after), {
      limit: args.limit,
      keep: (row) =>
        fits(row, args) && (args.warehouseId === undefined || row.warehouse_id === args.warehouseId),
    });
    return {
      ...position(db),
      rows,
      hasMore,
      last: last === null ? null : { variantId: last.variant_id, warehouseId: last.warehouse_id },
    };
  })();
}

/** Rows in the order of their id, after `after`. */
export function variantRows(
  db: Db,
  args: StockFilter & { readonly after: string; readonly limit: number },
): Page<VariantRow> & { readonly last: string | null } {
  const sqlOf = (search: StockFilter): string =>
    `SELECT * FROM mirror_variants WHERE ${seek(search)} variant_id > @after ORDER BY variant_id`;
  return db.transaction(() => {
    const { rows, last, hasMore } = takePortion(
      found<VariantRow>(db, searchesOf(db, args), sqlOf, { after: args.after }),
      { limit: args.limit, keep: (row) => fits(row, args) },
    );
    return { ...position(db), rows, hasMore, last: last?.variant_id ?? null };
  })();
}

/** One query for everything; or, while few rows are suspect, one for each variant that may be. */
function searchesOf(db: Db, filter: StockFilter): readonly StockFilter[] {
  if (filter.suspect !== 1 || seek(filter) !== '') return [filter];
  return fewSuspects(db)?.map((variantId) => ({ variantId })) ?? [filter];
}

/** Lazily: rows that are not needed are not looked up. */
function* found<Row>(
  db: Db,
  searches: readonly StockFilter[],
  sqlOf: (search: StockFilter) => string,
  after: Readonly<Record<string, string>>,
): Iterable<Row> {
  for (const search of searches) {
    yield* prepared<object, Row>(db, sqlOf(search)).iterate({ ...bound(search), ...after });
  }
}

/** The narrowest condition that an index can find; the rest is checked row by row. */
function seek(filter: StockFilter): string {
  if (filter.variantId !== undefined) return 'variant_id = @variantId AND';
  if (filter.sku !== undefined) return 'sku = @sku AND';
  if (filter.productId !== undefined) return 'product_id = @productId AND';
  return '';
}

/** SQLite refuses values that the statement does not name. */
function bound(filter: StockFilter): Record<string, string> {
  if (filter.variantId !== undefined) return { variantId: filter.variantId };
  if (filter.sku !== undefined) return { sku: filter.sku };
  return filter.productId === undefined ? {} : { productId: filter.productId };
}

function fits(row: StockRow | VariantRow, filter: StockFilter): boolean {
  return (
    (filter.variantId === undefined || row.variant_id === filter.variantId) &&
    (filter.sku === undefined || row.sku === filter.sku) &&
    (filter.productId === undefined || row.product_id === filter.productId) &&
    (filter.suspect === undefined || row.suspect === filter.suspect)
  );
}
