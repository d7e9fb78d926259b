/** All that the ops page shows of one variant: its figures, their history, and its open re-read requests. */
import { detailLevelsOf, type DetailLevel } from './detail-levels.ts';
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';
import { variantsWithCells, type StockVariant } from './page-stock.ts';
import { changesBefore } from './variant-changes.ts';

export interface VariantChange {
  readonly seq: number;
  /** Of the delivery, or the read, that it came from. */
  readonly logSeq: number;
  /** Null: a movement of the total that no row of its warehouses explains. */
  readonly warehouseId: string | null;
  readonly oldQty: number | null;
  readonly newQty: number | null;
  readonly source: 'webhook' | 'read';
  readonly reason: string | null;
  readonly orderId: string | null;
  readonly userId: string | null;
  readonly updateTimeMs: number | null;
  readonly recordedAtMs: number;
  readonly requestId: string | null;
}

export interface VariantGap {
  readonly warehouseId: string;
  readonly openedAtMs: number;
  readonly dueAtMs: number;
  readonly fromQty: number;
  readonly toQty: number;
}

export interface VariantView {
  readonly variant: StockVariant;
  readonly goneAtMs: number | null;
  readonly upc: string | null;
  /** When its product is next looked for in the catalogue; null: it is known. */
  readonly lookupAtMs: number | null;
  /** Newest first. */
  readonly changes: readonly VariantChange[];
  readonly hasMore: boolean;
  readonly gaps: readonly VariantGap[];
  readonly obligation: {
    readonly reason: string;
    readonly doubt: boolean;
    readonly sinceMs: number;
    readonly notBeforeMs: number;
  } | null;
  readonly failure: {
    readonly attempts: number;
    readonly nextAtMs: number;
    readonly parked: boolean;
    readonly error: string;
    readonly failedAtMs: number;
  } | null;
  readonly lastRead: {
    /** When it was sent. */
    readonly atMs: number;
    /** What it said about this variant; null: nothing that could be read. */
    readonly levels: readonly DetailLevel[] | null;
  } | null;
}

const VARIANT = `
  SELECT v.product_id AS productId, v.upc AS upc, v.gone_at_ms AS goneAtMs, v.lookup_at_ms AS lookupAtMs,
    p.read_at_ms AS readAtMs
  FROM variants v LEFT JOIN products p ON p.product_id = v.product_id WHERE v.variant_id = ?`;

const CHANGE = `seq, log_seq AS logSeq, warehouse_id AS warehouseId, old_qty AS oldQty, new_qty AS newQty, source, reason, order_id AS orderId,
    user_id AS userId, update_time_ms AS updateTimeMs, recorded_at_ms AS recordedAtMs, request_id AS requestId`;

const GAPS = `
  SELECT warehouse_id AS warehouseId, opened_at_ms AS openedAtMs, due_at_ms AS dueAtMs, from_qty AS fromQty,
    to_qty AS toQty
  FROM gaps WHERE variant_id = ? ORDER BY warehouse_id, opened_seq LIMIT 100`;

const OBLIGATION = `
  SELECT reason, doubt, first_made_at_ms AS sinceMs, not_before_ms AS notBeforeMs FROM obligations
  WHERE product_id = ?`;

const FAILURE = `
  SELECT attempts, next_at_ms AS nextAtMs, parked, error, failed_at_ms AS failedAtMs FROM read_failures
  WHERE product_id = ?`;

interface VariantRow {
  readonly productId: string | null;
  readonly upc: string | null;
  readonly goneAtMs: number | null;
  readonly lookupAtMs: number | null;
  readonly readAtMs: number | null;
}

/** Null: the mirror knows no such variant. */
export function variantView(
  db: Db,
  args: { readonly variantId: string; readonly beforeSeq: number | null; readonly limit: number },
): VariantView | null {
  const { variantId } = args;
  const row = prepared<[string], VariantRow>(db, VARIANT).get(variantId);
  const [variant] = variantsWithCells(db, [variantId]);
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
    gaps: prepared<[string], VariantGap>(db, GAPS).all(variantId),
    ...(row.productId === null
      ? { obligation: null, failure: null, lastRead: null }
      : ofProduct(db, row.productId, variantId, row.readAtMs)),
  };
}

function ofProduct(
  db: Db,
  productId: string,
  variantId: string,
  readAtMs: number | null,
): Pick<VariantView, 'obligation' | 'failure' | 'lastRead'> {
  type Obligation = Omit<NonNullable<VariantView['obligation']>, 'doubt'> & { doubt: number };
  type Failure = Omit<NonNullable<VariantView['failure']>, 'parked'> & { parked: number };
  const obligation = prepared<[string], Obligation>(db, OBLIGATION).get(productId);
  const failure = prepared<[string], Failure>(db, FAILURE).get(productId);
  const detailJson = prepared<[string], string>(
    db,
    'SELECT detail_json FROM product_details WHERE product_id = ?',
  )
    .pluck()
    .get(productId);
  return {
    obligation: obligation === undefined ? null : { ...obligation, doubt: obligation.doubt === 1 },
    failure: failure === undefined ? null : { ...failure, parked: failure.parked === 1 },
    lastRead:
      readAtMs === null || readAtMs <= 0 || detailJson === undefined
        ? null
        : { atMs: readAtMs, levels: detailLevelsOf(detailJson, variantId) },
  };
}
