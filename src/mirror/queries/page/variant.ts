import type { Change, Gap } from '../../../core/model.ts';
import { asc, eq, getTableColumns } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import { query, select, type Params, type RowOf } from '../../../sqlite/query.ts';
import { dueReads, gaps, products, variants } from '../../file/schema.ts';
import { changesOf } from '../changes.ts';
import { variantsWithLevels, type StockVariant } from './stock-rows.ts';

const VARIANT = query((params: Params<{ variantId: string }>) =>
  select({
    upc: variants.upc,
    goneAtMs: variants.goneAtMs,
    /** The next catalogue search for its product; null if the product is known. */
    lookupAtMs: variants.lookupAtMs,
    readAtMs: products.readAtMs,
  })
    .from(variants)
    .leftJoin(products, eq(products.productId, variants.productId))
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

export interface VariantView extends Omit<RowOf<typeof VARIANT>, 'readAtMs'> {
  readonly variant: StockVariant;
  readonly changes: readonly Change[];
  readonly hasMore: boolean;
  readonly gaps: readonly Gap[];
  readonly readRequest: DueRead | null;
  /** When the last read of its product was sent; null: it was not read yet. */
  readonly readAtMs: number | null;
}

export function variantView(
  db: Db,
  args: { readonly variantId: string; readonly beforeSeq: number | null; readonly limit: number },
): VariantView | null {
  const { variantId, limit } = args;
  const row = VARIANT.get(db, { variantId });
  const [variant] = variantsWithLevels(db, [variantId]);
  if (row === undefined || variant === undefined) return null;
  const { readAtMs, ...shown } = row;
  const beforeSeq = args.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const changes = changesOf(db, { variantId, beforeSeq, limit: limit + 1 });
  return {
    ...shown,
    variant,
    changes: changes.slice(0, limit),
    hasMore: changes.length > limit,
    gaps: GAPS.all(db, { variantId }),
    readRequest: DUE_READ.get(db, { productId: variant.productId }) ?? null,
    readAtMs: readAtMs === null || readAtMs <= 0 ? null : readAtMs,
  };
}
