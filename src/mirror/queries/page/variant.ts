import type { Change, Gap } from '../../../core/model.ts';
import { asc, eq, getTableColumns } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import { query, select, type Params, type RowOf } from '../../../sqlite/query.ts';
import { productDetailSchema } from '../../../store-api/contract/schemas.ts';
import { snapshotOf } from '../../../store-api/snapshot.ts';
import { dueReads, gaps, productDetails, products, variants } from '../../file/schema.ts';
import { changesOf } from '../changes.ts';
import { variantsWithLevels, type StockVariant } from './stock-rows.ts';

interface DetailLevel {
  readonly warehouseId: string | null;
  readonly qty: number;
}

const VARIANT = query((params: Params<{ variantId: string }>) =>
  select({
    upc: variants.upc,
    goneAtMs: variants.goneAtMs,
    /** The next catalogue search for its product; null if the product is known. */
    lookupAtMs: variants.lookupAtMs,
    readAtMs: products.readAtMs,
    detailJson: productDetails.detailJson,
  })
    .from(variants)
    .leftJoin(products, eq(products.productId, variants.productId))
    .leftJoin(productDetails, eq(productDetails.productId, variants.productId))
    .where(eq(variants.variantId, params.variantId)),
);

const DUE_READ = query((params: Params<{ productId: string | null }>) =>
  select({
    reason: dueReads.reason,
    firstMadeAtMs: dueReads.firstMadeAtMs,
    held: dueReads.held,
    parked: dueReads.parked,
    retryAtMs: dueReads.retryAtMs,
    lastError: dueReads.lastError,
    failedAtMs: dueReads.failedAtMs,
  })
    .from(dueReads)
    .where(eq(dueReads.productId, params.productId)),
);

const GAPS = query((params: Params<{ variantId: string }>) =>
  select(getTableColumns(gaps))
    .from(gaps)
    .where(eq(gaps.variantId, params.variantId))
    .orderBy(asc(gaps.warehouseId), asc(gaps.inboxSeq))
    .limit(100),
);

type DueRead = Readonly<RowOf<typeof DUE_READ>>;
type FailedRead = DueRead & { readonly failedAtMs: number };

export interface VariantView extends Omit<RowOf<typeof VARIANT>, 'readAtMs' | 'detailJson'> {
  readonly variant: StockVariant;
  readonly changes: readonly Change[];
  readonly hasMore: boolean;
  readonly gaps: readonly Gap[];
  readonly readRequest: DueRead | null;
  readonly failure: FailedRead | null;
  readonly lastRead: {
    readonly atMs: number;
    /** The total, then each warehouse; null if the variant was missing. */
    readonly levels: readonly DetailLevel[] | null;
  } | null;
}

export function variantView(
  db: Db,
  args: { readonly variantId: string; readonly beforeSeq: number | null; readonly limit: number },
): VariantView | null {
  const { variantId, limit } = args;
  const row = VARIANT.get(db, { variantId });
  const [variant] = variantsWithLevels(db, [variantId]);
  if (row === undefined || variant === undefined) return null;
  const { readAtMs, detailJson, ...shown } = row;
  const dueRead = DUE_READ.get(db, { productId: variant.productId });
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const changes = changesOf(db, { variantId, beforeSeq, limit: limit + 1 });
  return {
    ...shown,
    variant,
    changes: changes.slice(0, limit),
    hasMore: changes.length > limit,
    gaps: GAPS.all(db, { variantId }),
    readRequest: dueRead ?? null,
    failure: hasFailed(dueRead) ? dueRead : null,
    lastRead:
      readAtMs === null || readAtMs <= 0 || detailJson === null
        ? null
        : { atMs: readAtMs, levels: levelsIn(detailJson, variantId) },
  };
}

function hasFailed(read: DueRead | undefined): read is FailedRead {
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
