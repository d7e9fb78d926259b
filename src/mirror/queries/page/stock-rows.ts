/** Variants with the quantities of their warehouses, as the page shows them. */
import { asc, eq, sql } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import {
  isListed,
  LISTED_ID,
  listOf,
  query,
  select,
  type Flag,
  type Params,
  type RowOf,
} from '../../../sqlite/query.ts';
import { products, variants } from '../../file/schema.ts';
import { SUSPECT_TOTAL, type WhyNot } from '../../file/suspicion.ts';
import { mirrorSellable, mirrorStock } from '../../file/view-columns.ts';
import { LATEST_CHANGE } from './stock-order.ts';

interface Ids {
  readonly idsJson: string;
}

const VARIANTS = query((params: Params<Ids>) =>
  select({
    variantId: variants.variantId,
    productId: variants.productId,
    sku: variants.sku,
    name: variants.name,
    productName: products.name,
    kind: variants.kind,
    availableQty: variants.availableQty,
    asOfMs: variants.asOfMs,
    verifiedAtMs: variants.verifiedAtMs,
    suspect: sql<Flag>`${sql.raw(SUSPECT_TOTAL)}`,
    /** The latest change of the variant or of a stock level. */
    changeSeq: LATEST_CHANGE,
  })
    .from(listOf(params.idsJson))
    .innerJoin(variants, eq(variants.variantId, LISTED_ID))
    .leftJoin(products, eq(products.productId, variants.productId))
    .orderBy(sql`listed.key`),
);

const STOCK_LEVELS = query((params: Params<Ids>) =>
  select({
    variantId: mirrorStock.variant_id,
    warehouseId: mirrorStock.warehouse_id,
    qty: mirrorStock.available_qty,
    onHand: mirrorStock.on_hand,
    reservedQty: mirrorStock.reserved_qty,
    onHandAsOfMs: mirrorStock.on_hand_as_of,
    source: mirrorStock.source,
    asOfMs: mirrorStock.as_of,
    verifiedAtMs: mirrorStock.verified_at,
    suspect: mirrorStock.suspect,
  })
    .from(listOf(params.idsJson))
    .innerJoin(mirrorStock, eq(mirrorStock.variant_id, LISTED_ID))
    .orderBy(sql`listed.key`, asc(mirrorStock.warehouse_id)),
);

const SELLABLE = query((params: Params<Ids>) =>
  select({
    variantId: mirrorSellable.variant_id,
    warehouseId: mirrorSellable.warehouse_id,
    whyNot: mirrorSellable.why_not,
  })
    .from(mirrorSellable)
    .where(isListed(mirrorSellable.variant_id, params.idsJson)),
);

export interface StockLevelRow extends Omit<RowOf<typeof STOCK_LEVELS>, 'variantId' | 'suspect'> {
  readonly suspect: boolean;
  /** Why a program must not sell it; null: it may. */
  readonly whyNot: WhyNot | 'unverifiable' | null;
}

export interface StockVariant extends Omit<RowOf<typeof VARIANTS>, 'suspect'> {
  readonly suspect: boolean;
  /** For the total, if the variant is sold by it. */
  readonly total: { readonly whyNot: WhyNot | null } | null;
  readonly levels: readonly StockLevelRow[];
}

export function variantsWithLevels(db: Db, variantIds: readonly string[]): StockVariant[] {
  const params = { idsJson: JSON.stringify(variantIds) };
  const levels = Map.groupBy(STOCK_LEVELS.all(db, params), ({ variantId }) => variantId);
  const sellable = Map.groupBy(SELLABLE.all(db, params), ({ variantId }) => variantId);
  return VARIANTS.all(db, params).map(({ suspect, ...variant }) => {
    const sold = sellable.get(variant.variantId) ?? [];
    const rowOf = (warehouseId: string | null) => sold.find((row) => row.warehouseId === warehouseId);
    const own = (levels.get(variant.variantId) ?? []).map((level) => {
      const row = rowOf(level.warehouseId);
      return {
        ...level,
        suspect: level.suspect === 1,
        whyNot: row === undefined ? ('unverifiable' as const) : row.whyNot,
      };
    });
    return {
      ...variant,
      suspect: suspect === 1 || own.some((level) => level.suspect),
      total: rowOf(null) ?? null,
      levels: own,
    };
  });
}
