/** The ops page's stock search. It examines a bounded part of an index per call. */
import type { Source } from '../../../core/model.ts';
import type { Db } from '../../../sqlite/open.ts';
import { column, prepared } from '../../../sqlite/prepared.ts';
import { fewSuspects, SUSPECT_TOTAL, UNEXPLAINED, type WhyNot } from '../../file/suspicion.ts';

export interface StockSearch {
  /** The beginning of a SKU, which may have spaces; an id, or part of a name; blank for everything. */
  readonly text: string;
  readonly warehouseId: string | null;
  readonly suspect: boolean;
  /** Only variants of which nothing can be sold, or nothing in a warehouse. */
  readonly empty: boolean;
  /** `next` of the previous page; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface StockLevelRow {
  readonly warehouseId: string;
  readonly qty: number;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly onHandAsOfMs: number | null;
  readonly source: Source;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  readonly suspect: boolean;
  /** Why a program must not sell it; null: it may. */
  readonly whyNot: WhyNot | 'unverifiable' | null;
}

export interface StockVariant {
  readonly variantId: string;
  readonly productId: string | null;
  readonly sku: string | null;
  readonly name: string;
  readonly productName: string | null;
  readonly kind: string;
  readonly availableQty: number | null;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  readonly suspect: boolean;
  /** For the total, if the variant is sold by it. */
  readonly total: { readonly whyNot: WhyNot | null } | null;
  readonly levels: readonly StockLevelRow[];
}

export interface StockPage {
  readonly variants: readonly StockVariant[];
  readonly next: string | null;
  /** The search stopped at its limit: `next` continues, though fewer were found than requested. */
  readonly isPartial: boolean;
}

const LOOKED_AT = 5_000;
const FEW = 2_000;

// A prefix ends before its successor: U+10FFFF is above every character of a SKU.
const NAMED = `
  SELECT variant_id FROM variants WHERE variant_id = @text
  UNION SELECT variant_id FROM variants WHERE product_id = @text
  UNION SELECT variant_id FROM (
    SELECT variant_id FROM variants WHERE sku >= @text AND sku < @text || char(1114111) LIMIT ${FEW + 1}
  )
  UNION SELECT variant_id FROM (
    SELECT variant_id FROM variants WHERE sku >= @typed AND sku < @typed || char(1114111) LIMIT ${FEW + 1}
  )`;

const WANTED = `
  variants.variant_id > @after AND variants.gone_at_ms IS NULL
  AND (
    @lower = ''
    OR variants.variant_id = @text
    OR variants.product_id = @text
    OR instr(lower(coalesce(variants.sku, '')), @lower) > 0
    OR instr(lower(variants.name), @lower) > 0
    OR instr(lower(coalesce(products.name, '')), @lower) > 0
  )
  AND (
    @warehouseId IS NULL OR EXISTS (
      SELECT 1 FROM stock_levels
      WHERE stock_levels.variant_id = variants.variant_id
        AND stock_levels.warehouse_id = @warehouseId
        AND stock_levels.gone_at_ms IS NULL
    )
  )
  AND (
    @suspect = 0 OR ${SUSPECT_TOTAL} OR EXISTS (
      SELECT 1 FROM stock_levels
      WHERE stock_levels.variant_id = variants.variant_id
        AND stock_levels.gone_at_ms IS NULL
        AND ${UNEXPLAINED}
    )
  )
  AND (
    @empty = 0 OR variants.available_qty <= 0 OR EXISTS (
      SELECT 1 FROM stock_levels
      WHERE stock_levels.variant_id = variants.variant_id
        AND stock_levels.gone_at_ms IS NULL
        AND stock_levels.qty <= 0
    )
  )
  ORDER BY variants.variant_id LIMIT @limit`;

const LISTED = `
  SELECT variants.variant_id FROM json_each(@ids) listed
  CROSS JOIN variants ON variants.variant_id = listed.value
  LEFT JOIN products ON products.product_id = variants.product_id
  WHERE ${WANTED}`;

const WALKED = `
  SELECT variants.variant_id FROM variants
  LEFT JOIN products ON products.product_id = variants.product_id
  WHERE variants.variant_id <= @until AND ${WANTED}`;

const BOUND = `
  SELECT variant_id FROM variants WHERE variant_id > @after ORDER BY variant_id LIMIT 1 OFFSET ${LOOKED_AT - 1}`;

const VARIANTS = `
  SELECT
    variants.variant_id AS variantId,
    variants.product_id AS productId,
    variants.sku AS sku,
    variants.name AS name,
    products.name AS productName,
    variants.kind AS kind,
    variants.available_qty AS availableQty,
    variants.as_of_ms AS asOfMs,
    variants.verified_at_ms AS verifiedAtMs,
    ${SUSPECT_TOTAL} AS suspect
  FROM json_each(@ids) listed
  JOIN variants ON variants.variant_id = listed.value
  LEFT JOIN products ON products.product_id = variants.product_id
  ORDER BY listed.key`;

const STOCK_LEVELS = `
  SELECT
    mirror_stock.variant_id AS variantId,
    mirror_stock.warehouse_id AS warehouseId,
    mirror_stock.available_qty AS qty,
    mirror_stock.on_hand AS onHand,
    mirror_stock.reserved_qty AS reservedQty,
    mirror_stock.on_hand_as_of AS onHandAsOfMs,
    mirror_stock.source AS source,
    mirror_stock.as_of AS asOfMs,
    mirror_stock.verified_at AS verifiedAtMs,
    mirror_stock.suspect AS suspect
  FROM json_each(@ids) listed
  JOIN mirror_stock ON mirror_stock.variant_id = listed.value
  ORDER BY listed.key, mirror_stock.warehouse_id`;

export function findStock(db: Db, search: StockSearch): StockPage {
  const { warehouseId, limit } = search;
  const text = search.text.trim();
  const after = search.after ?? '';
  const ids = search.suspect ? fewSuspects(db) : fewNamed(db, search.text);
  const until = ids === null ? (column<object, string>(db, BOUND).get({ after }) ?? null) : null;
  const found = column<object, string>(db, ids === null ? WALKED : LISTED).all({
    after,
    text,
    // Like SQLite's lower(), only ASCII.
    lower: text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    warehouseId,
    suspect: search.suspect ? 1 : 0,
    empty: search.empty ? 1 : 0,
    limit: limit + 1,
    ...(ids === null ? { until: until ?? '\u{10ffff}' } : { ids: JSON.stringify(ids) }),
  });
  const shown = found.slice(0, limit);
  const hasMore = found.length > limit;
  return {
    variants: variantsWithLevels(db, shown),
    next: hasMore ? (shown.at(-1) ?? null) : until,
    isPartial: !hasMore && until !== null,
  };
}

/** Variants named by an id or the beginning of a SKU; null if there are none, or too many. */
function fewNamed(db: Db, typed: string): readonly string[] | null {
  const text = typed.trim();
  if (text === '') return null;
  const ids = column<object, string>(db, NAMED).all({ text, typed });
  return ids.length === 0 || ids.length > FEW ? null : ids;
}

const SELLABLE = `
  SELECT variant_id AS variantId, warehouse_id AS warehouseId, why_not AS whyNot
  FROM mirror_sellable WHERE variant_id IN (SELECT value FROM json_each(@ids))`;

interface SellableRow {
  readonly variantId: string;
  readonly warehouseId: string | null;
  readonly whyNot: WhyNot | null;
}

type Flagged<T> = Omit<T, 'suspect' | 'levels' | 'whyNot' | 'total'> & { readonly suspect: number };

export function variantsWithLevels(db: Db, variantIds: readonly string[]): StockVariant[] {
  const ids = JSON.stringify(variantIds);
  const levels = Map.groupBy(
    prepared<object, Flagged<StockLevelRow> & { readonly variantId: string }>(db, STOCK_LEVELS).all({ ids }),
    ({ variantId }) => variantId,
  );
  const sellable = Map.groupBy(
    prepared<object, SellableRow>(db, SELLABLE).all({ ids }),
    ({ variantId }) => variantId,
  );
  return prepared<object, Flagged<StockVariant>>(db, VARIANTS)
    .all({ ids })
    .map(({ suspect, ...variant }) => {
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

interface WarehouseCount {
  readonly warehouseId: string;
  /** Stock levels with nothing to sell. */
  readonly empty: number;
  readonly levels: number;
}

interface StockFacets {
  /** Those of the stock levels examined, which may lack a rare one in a large mirror. */
  readonly warehouseIds: readonly string[];
  /** Stock levels with nothing to sell; null if the mirror has too many levels to count them. */
  readonly empty: number | null;
}

// The levels that changed last, by the index of the feed.
const FACETS = `
  SELECT warehouse_id AS warehouseId, count(*) AS levels, coalesce(sum(qty <= 0), 0) AS empty
  FROM (
    SELECT warehouse_id, qty FROM stock_levels
    WHERE gone_at_ms IS NULL
    ORDER BY change_seq DESC LIMIT ${LOOKED_AT}
  )
  GROUP BY warehouse_id ORDER BY warehouse_id`;

/** Warehouses that the stock page's filter lists, and the number next to its filter `Nothing to sell`. */
export function stockFacets(db: Db): StockFacets {
  const counts = prepared<[], WarehouseCount>(db, FACETS).all();
  const sum = (of: 'levels' | 'empty'): number => counts.reduce((total, count) => total + count[of], 0);
  return {
    warehouseIds: counts.map(({ warehouseId }) => warehouseId),
    empty: sum('levels') === LOOKED_AT ? null : sum('empty'),
  };
}
