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
    suspectTotal: sql<Flag>`${sql.raw(SUSPECT_TOTAL)}`,
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
    sellable: mirrorStock.sellable,
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

export interface StockLevelRow extends Omit<
  RowOf<typeof STOCK_LEVELS>,
  'variantId' | 'suspect' | 'sellable'
> {
  /** A row of `mirror_sellable` that has a ground against it. */
  readonly suspect: boolean;
  /** Why a program must not sell it; null: it may. */
  readonly whyNot: WhyNot | 'unverifiable' | null;
}

export interface StockVariant extends Omit<RowOf<typeof VARIANTS>, 'suspectTotal'> {
  /** One of its rows in `mirror_sellable` has a ground against it. */
  readonly suspect: boolean;
  /** Belongs to its first row that a program must not sell. */
  readonly whyNot: WhyNot | null;
  /** It is sold by its total. */
  readonly hasTotal: boolean;
  readonly levels: readonly StockLevelRow[];
}

export function variantsWithLevels(db: Db, variantIds: readonly string[]): StockVariant[] {
  const params = { idsJson: JSON.stringify(variantIds) };
  const levels = Map.groupBy(STOCK_LEVELS.all(db, params), ({ variantId }) => variantId);
  const sellable = Map.groupBy(SELLABLE.all(db, params), ({ variantId }) => variantId);
  return VARIANTS.all(db, params).map(({ suspectTotal, ...variant }) => {
    const sold = sellable.get(variant.variantId) ?? [];
    const shown = (levels.get(variant.variantId) ?? []).map(({ sellable: isSold, ...level }) => ({
      ...level,
      suspect: isSold === 1 && level.suspect === 1,
      whyNot:
        isSold === 1
          ? (sold.find((row) => row.warehouseId === level.warehouseId)?.whyNot ?? null)
          : ('unverifiable' as const),
    }));
    const hasTotal = sold.some(({ warehouseId }) => warehouseId === null);
    return {
      ...variant,
      suspect: (hasTotal && suspectTotal === 1) || shown.some((level) => level.suspect),
      whyNot: sold.find((row) => row.whyNot !== null)?.whyNot ?? null,
      hasTotal,
      levels: shown,
    };
  });
}
