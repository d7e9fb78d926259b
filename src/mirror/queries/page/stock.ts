/** The ops page's search through the stock: a bounded part of an index at a time, however large the mirror. */
import type { Source } from '../../../core/model.ts';
import type { Db } from '../../../sqlite/open.ts';
import { prepared } from '../../../sqlite/prepared.ts';
import { SUSPECT_TOTAL } from '../../file/suspicion.ts';
import { IN_WAREHOUSE, lowerCase, NAMED, type StockCursor, type StockSearch } from './filters.ts';
import { findSuspects } from './suspects.ts';

export interface StockLevelRow {
  readonly warehouseId: string;
  readonly qty: number;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly source: Source;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  readonly suspect: boolean;
}

export interface StockVariant {
  readonly variantId: string;
  readonly productId: string | null;
  readonly sku: string | null;
  readonly name: string;
  readonly productName: string | null;
  readonly kind: string;
  /** The sellable total; null until a read has shown it. */
  readonly availableQty: number | null;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  readonly suspect: boolean;
  readonly levels: readonly StockLevelRow[];
}

export interface StockPage {
  readonly variants: readonly StockVariant[];
  /** Where to continue; null: there is no more. */
  readonly next: StockCursor | null;
  /** Whether the search ended at its bound: `next` continues, though fewer were found than requested. */
  readonly isPartial: boolean;
}

/** Variants that one page may look at. */
const LOOKED_AT = 5_000;

const BY_ID = `
  SELECT v.variant_id AS variantId FROM variants v
  WHERE (v.variant_id = @text OR v.product_id = @text) AND v.variant_id > @afterId AND v.gone_at_ms IS NULL
    AND ${IN_WAREHOUSE}
  ORDER BY v.variant_id LIMIT @limit`;

// A prefix is found by the code points that follow it; U+10FFFF is after every character that a SKU can have.
const BY_SKU = `
  SELECT v.variant_id AS variantId, v.sku AS sku FROM variants v
  WHERE v.sku >= @text AND v.sku < @text || char(1114111) AND (v.sku, v.variant_id) > (@afterSku, @afterId)
    AND v.gone_at_ms IS NULL AND ${IN_WAREHOUSE}
  ORDER BY v.sku, v.variant_id LIMIT @limit`;

const BOUND = `
  SELECT variant_id FROM variants WHERE variant_id > @afterId ORDER BY variant_id LIMIT 1 OFFSET ${LOOKED_AT - 1}`;

const BY_VARIANT = `
  SELECT v.variant_id AS variantId FROM variants v
  WHERE v.variant_id > @afterId AND v.variant_id <= @untilId AND v.gone_at_ms IS NULL AND ${NAMED} AND ${IN_WAREHOUSE}
  ORDER BY v.variant_id LIMIT @limit`;

const VARIANTS = `
  SELECT v.variant_id AS variantId, v.product_id AS productId, v.sku AS sku, v.name AS name, p.name AS productName,
    v.kind AS kind, v.available_qty AS availableQty, v.as_of_ms AS asOfMs, v.verified_at_ms AS verifiedAtMs,
    ${SUSPECT_TOTAL} AS suspect
  FROM json_each(@ids) l JOIN variants v ON v.variant_id = l.value LEFT JOIN products p ON p.product_id = v.product_id
  ORDER BY l.key`;

const STOCK_LEVELS = `
  SELECT s.variant_id AS variantId, s.warehouse_id AS warehouseId, s.available_qty AS qty, s.on_hand AS onHand,
    s.reserved_qty AS reservedQty, s.source AS source, s.as_of AS asOfMs, s.verified_at AS verifiedAtMs,
    s.suspect AS suspect
  FROM json_each(@ids) l JOIN mirror_stock s ON s.variant_id = l.value
  ORDER BY l.key, s.warehouse_id`;

interface Found {
  readonly variantId: string;
  readonly sku?: string;
}

export function findStock(db: Db, search: StockSearch): StockPage {
  if (search.suspect) {
    const { variantIds, next, isPartial } = findSuspects(db, search);
    return { variants: variantsWithLevels(db, variantIds), next, isPartial };
  }
  const { warehouseId, after, text } = search;
  if (text !== '' && (after === null || after.list === 'id' || after.list === 'sku')) {
    for (const list of ['id', 'sku'] as const) {
      if (after !== null && after.list !== list) continue;
      const [afterId = '', afterSku = ''] = after?.key ?? [];
      const bound = { text, warehouseId, limit: search.limit + 1, afterId };
      const found =
        list === 'id'
          ? prepared<object, Found>(db, BY_ID).all(bound)
          : prepared<object, Found>(db, BY_SKU).all({ ...bound, afterSku });
      if (found.length > 0 || after !== null) return pageOf(db, search, found, list);
    }
  }
  return searchStock(db, search);
}

/** By the variants' ids, when neither an id nor the beginning of a SKU matches. */
function searchStock(db: Db, search: StockSearch): StockPage {
  const { warehouseId, after, text, limit } = search;
  const afterId = after?.list === 'walk' ? (after.key[0] ?? '') : '';
  const untilId = prepared<object, string>(db, BOUND).pluck().get({ afterId }) ?? null;
  const found = prepared<object, Found>(db, BY_VARIANT).all({
    lower: lowerCase(text),
    warehouseId,
    limit: limit + 1,
    afterId,
    untilId: untilId ?? '\u{10ffff}',
  });
  const page = pageOf(db, search, found, 'walk');
  if (page.next !== null || untilId === null) return page;
  return { ...page, next: { list: 'walk', key: [untilId] }, isPartial: true };
}

/** @param found one more than is shown means that there are more. */
function pageOf(db: Db, { limit }: StockSearch, found: readonly Found[], list: string): StockPage {
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const variantIds = shown.map(({ variantId }) => variantId);
  return {
    variants: variantsWithLevels(db, variantIds),
    next:
      found.length > limit && last !== undefined
        ? { list, key: [last.variantId, ...(last.sku === undefined ? [] : [last.sku])] }
        : null,
    isPartial: false,
  };
}

type Flagged<T> = Omit<T, 'suspect' | 'levels'> & { readonly suspect: number };

/** In the order of the ids; unknown ones are left out. */
export function variantsWithLevels(db: Db, variantIds: readonly string[]): StockVariant[] {
  const ids = JSON.stringify(variantIds);
  const levels = new Map<string, StockLevelRow[]>();
  const rows = prepared<object, Flagged<StockLevelRow> & { variantId: string }>(db, STOCK_LEVELS).all({
    ids,
  });
  for (const { variantId, suspect, ...level } of rows) {
    const known = levels.get(variantId);
    const shown = { ...level, suspect: suspect === 1 };
    if (known === undefined) levels.set(variantId, [shown]);
    else known.push(shown);
  }
  return prepared<object, Flagged<StockVariant>>(db, VARIANTS)
    .all({ ids })
    .map(({ suspect, ...variant }) => {
      const own = levels.get(variant.variantId) ?? [];
      return { ...variant, suspect: suspect === 1 || own.some((level) => level.suspect), levels: own };
    });
}
