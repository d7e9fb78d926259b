/** All that the ops page shows of one variant: its figures, their history, and its open re-read requests. */
import type { Source } from '../../../core/model.ts';
import { asc, eq, sql } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import { gaps, readRequests, productDetails, products, readFailures, variants } from '../../file/schema.ts';
import { select, typed, type RowOf } from '../../../sqlite/typed.ts';
import { detailLevelsOf, type DetailLevel } from '../detail-levels.ts';
import { variantsWithLevels, type StockVariant } from './stock.ts';
import { changesBefore } from '../variant-changes.ts';

export interface VariantChange {
  readonly seq: number;
  /** The delivery it came with; null for a read. */
  readonly inboxSeq: number | null;
  /** Null: a movement of the total that no row of its warehouses explains. */
  readonly warehouseId: string | null;
  readonly oldQty: number | null;
  readonly newQty: number | null;
  readonly source: Source;
  readonly reason: string | null;
  readonly orderId: string | null;
  readonly userId: string | null;
  readonly updateTimeMs: number | null;
  readonly recordedAtMs: number;
  readonly requestId: string | null;
}

const VARIANT = typed(
  select({
    productId: variants.productId,
    upc: variants.upc,
    goneAtMs: variants.goneAtMs,
    lookupAtMs: variants.lookupAtMs,
    readAtMs: products.readAtMs,
  })
    .from(variants)
    .leftJoin(products, eq(products.productId, variants.productId))
    .where(eq(variants.variantId, sql.placeholder('variantId'))),
);

const GAPS = typed(
  select({
    warehouseId: gaps.warehouseId,
    openedAtMs: gaps.openedAtMs,
    dueAtMs: gaps.dueAtMs,
    fromQty: gaps.fromQty,
    toQty: gaps.toQty,
  })
    .from(gaps)
    .where(eq(gaps.variantId, sql.placeholder('variantId')))
    .orderBy(asc(gaps.warehouseId), asc(gaps.openedSeq))
    .limit(100),
);

const READ_REQUEST = typed(
  select({
    reason: readRequests.reason,
    isSuspect: readRequests.isSuspect,
    sinceMs: readRequests.firstMadeAtMs,
    notBeforeMs: readRequests.notBeforeMs,
  })
    .from(readRequests)
    .where(eq(readRequests.productId, sql.placeholder('productId'))),
);

const FAILURE = typed(
  select({
    attempts: readFailures.attempts,
    nextAtMs: readFailures.nextAtMs,
    parked: readFailures.parked,
    error: readFailures.error,
    failedAtMs: readFailures.failedAtMs,
  })
    .from(readFailures)
    .where(eq(readFailures.productId, sql.placeholder('productId'))),
);

const DETAIL = typed(
  select({ json: productDetails.detailJson })
    .from(productDetails)
    .where(eq(productDetails.productId, sql.placeholder('productId'))),
);

export interface VariantView {
  readonly variant: StockVariant;
  readonly goneAtMs: number | null;
  readonly upc: string | null;
  /** When its product is next looked for in the catalogue; null: it is known. */
  readonly lookupAtMs: number | null;
  /** Newest first. */
  readonly changes: readonly VariantChange[];
  readonly hasMore: boolean;
  readonly gaps: readonly RowOf<typeof GAPS>[];
  readonly readRequest:
    (Omit<RowOf<typeof READ_REQUEST>, 'isSuspect'> & { readonly isSuspect: boolean }) | null;
  readonly failure: (Omit<RowOf<typeof FAILURE>, 'parked'> & { readonly parked: boolean }) | null;
  readonly lastRead: {
    /** When it was sent. */
    readonly atMs: number;
    /** What it said about this variant; null: nothing that could be read. */
    readonly levels: readonly DetailLevel[] | null;
  } | null;
}

const CHANGE = `seq, inbox_seq AS inboxSeq, warehouse_id AS warehouseId, old_qty AS oldQty, new_qty AS newQty, source, reason, order_id AS orderId,
    user_id AS userId, update_time_ms AS updateTimeMs, recorded_at_ms AS recordedAtMs, request_id AS requestId`;

/** Null: the mirror knows no such variant. */
export function variantView(
  db: Db,
  args: { readonly variantId: string; readonly beforeSeq: number | null; readonly limit: number },
): VariantView | null {
  const { variantId } = args;
  const row = VARIANT.get(db, { variantId });
  const [variant] = variantsWithLevels(db, [variantId]);
  if (row === undefined || variant === undefined) return null;
  const changes: VariantChange[] = [];
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  for (const found of changesBefore<VariantChange>(db, { variantId, columns: CHANGE, beforeSeq })) {
    if (found.kind === 'row') changes.push(found.row);
    if (changes.length > args.limit) break;
  }
  return {
    variant,
    goneAtMs: row.goneAtMs,
    upc: row.upc,
    lookupAtMs: row.lookupAtMs,
    changes: changes.slice(0, args.limit),
    hasMore: changes.length > args.limit,
    gaps: GAPS.all(db, { variantId }),
    ...(row.productId === null
      ? { readRequest: null, failure: null, lastRead: null }
      : ofProduct(db, row.productId, variantId, row.readAtMs)),
  };
}

function ofProduct(
  db: Db,
  productId: string,
  variantId: string,
  readAtMs: number | null,
): Pick<VariantView, 'readRequest' | 'failure' | 'lastRead'> {
  const readRequest = READ_REQUEST.get(db, { productId });
  const failure = FAILURE.get(db, { productId });
  const detail = DETAIL.get(db, { productId });
  return {
    readRequest:
      readRequest === undefined ? null : { ...readRequest, isSuspect: readRequest.isSuspect === 1 },
    failure: failure === undefined ? null : { ...failure, parked: failure.parked === 1 },
    lastRead:
      readAtMs === null || readAtMs <= 0 || detail === undefined
        ? null
        : { atMs: readAtMs, levels: detailLevelsOf(detail.json, variantId) },
  };
}
