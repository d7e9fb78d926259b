import type { Change, Gap, ReadRequest } from '../../../core/model.ts';
import type { Db } from '../../../sqlite/open.ts';
import { prepared } from '../../../sqlite/prepared.ts';
import { productDetailSchema } from '../../../store-api/contract/schemas.ts';
import { snapshotOf } from '../../../store-api/snapshot.ts';
import { selectFrom } from '../../file/statements.ts';
import { changesOf } from '../changes.ts';
import { variantsWithLevels, type StockVariant } from './stock.ts';

interface DetailLevel {
  readonly warehouseId: string | null;
  readonly qty: number;
}

interface Failure {
  readonly parked: 0 | 1;
  readonly retryAtMs: number;
  readonly lastError: string | null;
  readonly failedAtMs: number;
}

interface DueRead extends Pick<ReadRequest, 'reason' | 'firstMadeAtMs'> {
  readonly held: 0 | 1;
}

export interface VariantView {
  readonly variant: StockVariant;
  readonly goneAtMs: number | null;
  readonly upc: string | null;
  /** The next catalogue search for its product; null if the product is known. */
  readonly lookupAtMs: number | null;
  readonly changes: readonly Change[];
  readonly hasMore: boolean;
  readonly gaps: readonly Gap[];
  readonly readRequest: DueRead | null;
  readonly failure: Failure | null;
  readonly lastRead: {
    readonly atMs: number;
    /** The total, then each warehouse; null if the variant was missing. */
    readonly levels: readonly DetailLevel[] | null;
  } | null;
}

const VARIANT = `
  SELECT v.upc, v.gone_at_ms AS goneAtMs, v.lookup_at_ms AS lookupAtMs, p.read_at_ms AS readAtMs, d.detail_json AS detailJson
  FROM variants v LEFT JOIN products p ON p.product_id = v.product_id
  LEFT JOIN product_details d ON d.product_id = v.product_id
  WHERE v.variant_id = ?`;

const DUE_READ = `
  SELECT reason, first_made_at_ms AS firstMadeAtMs, held, parked, retry_at_ms AS retryAtMs,
    last_error AS lastError, failed_at_ms AS failedAtMs
  FROM due_reads WHERE product_id = ?`;

type VariantRow = Pick<VariantView, 'upc' | 'goneAtMs' | 'lookupAtMs'> & {
  readonly readAtMs: number | null;
  readonly detailJson: string | null;
};

export function variantView(
  db: Db,
  args: { readonly variantId: string; readonly beforeSeq: number | null; readonly limit: number },
): VariantView | null {
  const { variantId, limit } = args;
  const row = prepared<[string], VariantRow>(db, VARIANT).get(variantId);
  const [variant] = variantsWithLevels(db, [variantId]);
  if (row === undefined || variant === undefined) return null;
  const { readAtMs, detailJson, ...shown } = row;
  const { productId } = variant;
  const dueRead = prepared<
    [string | null],
    DueRead & Omit<Failure, 'failedAtMs'> & { failedAtMs: number | null }
  >(db, DUE_READ).get(productId);
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const changes = changesOf(db, { variantId, beforeSeq, limit: limit + 1 });
  const gaps = `${selectFrom(db, 'gaps')} WHERE variant_id = ? ORDER BY warehouse_id, inbox_seq LIMIT 100`;
  return {
    ...shown,
    variant,
    changes: changes.slice(0, limit),
    hasMore: changes.length > limit,
    gaps: prepared<[string], Gap>(db, gaps).all(variantId),
    readRequest: dueRead ?? null,
    failure: hasFailed(dueRead) ? dueRead : null,
    lastRead:
      readAtMs === null || readAtMs <= 0 || detailJson === null
        ? null
        : { atMs: readAtMs, levels: levelsIn(detailJson, variantId) },
  };
}

function hasFailed<T extends { readonly failedAtMs: number | null }>(
  read: T | undefined,
): read is T & { readonly failedAtMs: number } {
  return read !== undefined && read.failedAtMs !== null;
}

function levelsIn(detailJson: string, variantId: string): DetailLevel[] | null {
  const { variants } = snapshotOf(productDetailSchema.parse(JSON.parse(detailJson)), detailJson);
  const variant = variants.find((each) => each.variantId === variantId);
  if (variant === undefined) return null;
  return [
    { warehouseId: null, qty: variant.availableQty },
    ...(variant.levels ?? []).map(({ warehouseId, availableQty: qty }) => ({ warehouseId, qty })),
  ];
}
