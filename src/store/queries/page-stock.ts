/** The ops page's search through the stock: a bounded part of an index at a time, however large the mirror. */
import type { Db } from '../open.ts';
import { prepared } from '../prepared.ts';

export interface StockSearch {
  /** The beginning of a SKU, the id of a variant or a product, or a part of a name; empty: everything. */
  readonly text: string;
  /** Only variants with stock in this warehouse; null: whatever warehouse. */
  readonly warehouseId: string | null;
  /** Only what is under suspicion. */
  readonly suspect: boolean;
  /** Where the page before ended; null: the first page. */
  readonly after: StockCursor | null;
  readonly limit: number;
}

export interface StockCursor {
  readonly variantId: string;
  /** Set where the order is that of the SKUs. */
  readonly sku: string | null;
}

export interface StockCell {
  readonly warehouseId: string;
  readonly qty: number;
  readonly onHand: number | null;
  readonly reservedQty: number | null;
  readonly source: 'webhook' | 'read';
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
  /** The sellable total; null until a read has told it. */
  readonly availableQty: number | null;
  readonly asOfMs: number;
  readonly verifiedAtMs: number | null;
  readonly suspect: boolean;
  readonly cells: readonly StockCell[];
}

export interface StockPage {
  readonly variants: readonly StockVariant[];
  /** Where to go on; null: there is no more. */
  readonly next: StockCursor | null;
  /** Whether the search ended at its bound: `next` goes on, though fewer were found than asked for. */
  readonly isPartial: boolean;
}

/** Variants that one page may look at, and products or cells that are asked for what is suspect. */
const LOOKED_AT = 5_000;
const SUSPECTS_OF_EACH_KIND = 300;

const IN_WAREHOUSE = `(
  @warehouseId IS NULL OR EXISTS (
    SELECT 1 FROM cells c
    WHERE c.variant_id = v.variant_id AND c.warehouse_id = @warehouseId AND c.gone_at_ms IS NULL
  )
)`;

const BY_ID = `
  SELECT v.variant_id AS variantId FROM variants v
  WHERE (v.variant_id = @text OR v.product_id = @text) AND v.gone_at_ms IS NULL AND ${IN_WAREHOUSE}
  ORDER BY v.variant_id LIMIT @limit`;

// Beginnings are told by the code points after them; U+10FFFF is after every character that a SKU can have.
const BY_SKU = `
  SELECT v.variant_id AS variantId, v.sku AS sku FROM variants v
  WHERE v.sku >= @text AND v.sku < @text || char(1114111) AND (v.sku, v.variant_id) > (@afterSku, @afterId)
    AND v.gone_at_ms IS NULL AND ${IN_WAREHOUSE}
  ORDER BY v.sku, v.variant_id LIMIT @limit`;

const BOUND = `
  SELECT variant_id FROM variants WHERE variant_id > @afterId ORDER BY variant_id LIMIT 1 OFFSET ${LOOKED_AT - 1}`;

const WALK = `
  SELECT v.variant_id AS variantId FROM variants v
  WHERE v.variant_id > @afterId AND v.variant_id <= @untilId AND v.gone_at_ms IS NULL
    AND (
      @text = '' OR instr(lower(coalesce(v.sku, '')), @text) > 0 OR instr(lower(v.name), @text) > 0
      OR instr(lower(coalesce((SELECT p.name FROM products p WHERE p.product_id = v.product_id), '')), @text) > 0
    )
    AND ${IN_WAREHOUSE}
  ORDER BY v.variant_id LIMIT @limit`;

const OF_PRODUCTS = (products: string): string => `
  SELECT v.variant_id FROM (${products} LIMIT ${SUSPECTS_OF_EACH_KIND}) d
  JOIN variants v ON v.product_id = d.product_id`;

const SUSPECT = `
  SELECT DISTINCT v.variant_id AS variantId FROM (
    ${OF_PRODUCTS('SELECT product_id FROM obligations WHERE doubt = 1 ORDER BY priority, first_made_at_ms')}
    UNION ALL SELECT variant_id FROM (SELECT variant_id FROM gaps ORDER BY due_at_ms LIMIT ${SUSPECTS_OF_EACH_KIND})
    UNION ALL SELECT variant_id FROM (
      SELECT variant_id FROM cells WHERE unexplained_at_ms IS NOT NULL AND gone_at_ms IS NULL
      ORDER BY unexplained_at_ms LIMIT ${SUSPECTS_OF_EACH_KIND}
    )
    UNION ALL ${OF_PRODUCTS(`SELECT product_id FROM products
      WHERE gone_at_ms IS NULL AND read_at_ms < (SELECT trusted_after_ms FROM mirror_state) ORDER BY read_at_ms`)}
    UNION ALL SELECT variant_id FROM (
      SELECT variant_id FROM variants WHERE product_id IS NULL LIMIT ${SUSPECTS_OF_EACH_KIND}
    )
  ) s
  JOIN variants v ON v.variant_id = s.variant_id
  WHERE v.gone_at_ms IS NULL AND ${IN_WAREHOUSE}
    AND (@text = '' OR v.variant_id = @text OR v.product_id = @text OR instr(lower(coalesce(v.sku, '')), lower(@text)) > 0
      OR instr(lower(v.name), lower(@text)) > 0)
  LIMIT @limit`;

const VARIANTS = `
  SELECT v.variant_id AS variantId, v.product_id AS productId, v.sku AS sku, v.name AS name, p.name AS productName,
    v.kind AS kind, v.available_qty AS availableQty, v.as_of_ms AS asOfMs, v.verified_at_ms AS verifiedAtMs,
    (
      v.product_id IS NULL
      OR coalesce(p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state), 1)
      OR EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = v.product_id AND o.doubt = 1)
      OR EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = v.variant_id)
    ) AS suspect
  FROM json_each(@ids) l JOIN variants v ON v.variant_id = l.value LEFT JOIN products p ON p.product_id = v.product_id
  ORDER BY l.key`;

const CELLS = `
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
  const { warehouseId, after, text } = search;
  // One more than is shown tells whether there are more.
  const limit = search.limit + 1;
  const bound = { text, warehouseId, limit, afterId: after?.variantId ?? '', afterSku: after?.sku ?? '' };
  if (search.suspect) {
    return pageOf(db, search, prepared<object, Found>(db, SUSPECT).all(bound), { isOrdered: false });
  }
  if (text !== '' && (after === null || after.sku !== null)) {
    const byId = after === null ? prepared<object, Found>(db, BY_ID).all(bound) : [];
    if (byId.length > 0) return pageOf(db, search, byId, { isOrdered: false });
    const bySku = prepared<object, Found>(db, BY_SKU).all(bound);
    if (bySku.length > 0 || after !== null) return pageOf(db, search, bySku, { isOrdered: true });
  }
  const untilId = prepared<object, string>(db, BOUND).pluck().get(bound) ?? null;
  const walk = { ...bound, text: text.toLowerCase(), untilId: untilId ?? '\u{10ffff}' };
  const page = pageOf(db, search, prepared<object, Found>(db, WALK).all(walk), { isOrdered: true });
  if (page.next !== null || untilId === null) return page;
  return { ...page, next: { variantId: untilId, sku: null }, isPartial: true };
}

function pageOf(
  db: Db,
  { limit }: StockSearch,
  found: readonly Found[],
  { isOrdered }: { readonly isOrdered: boolean },
): StockPage {
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    variants: variantsWithCells(
      db,
      shown.map(({ variantId }) => variantId),
    ),
    next: hasMore && isOrdered ? { variantId: last.variantId, sku: last.sku ?? null } : null,
    isPartial: hasMore && !isOrdered,
  };
}

type Flagged<T> = Omit<T, 'suspect' | 'cells'> & { readonly suspect: number };

/** In the order of the ids; those that are unknown are left out. */
export function variantsWithCells(db: Db, variantIds: readonly string[]): StockVariant[] {
  const ids = JSON.stringify(variantIds);
  const cells = new Map<string, StockCell[]>();
  const rows = prepared<object, Flagged<StockCell> & { variantId: string }>(db, CELLS).all({ ids });
  for (const { variantId, suspect, ...cell } of rows) {
    const known = cells.get(variantId);
    const told = { ...cell, suspect: suspect === 1 };
    if (known === undefined) cells.set(variantId, [told]);
    else known.push(told);
  }
  return prepared<object, Flagged<StockVariant>>(db, VARIANTS)
    .all({ ids })
    .map(({ suspect, ...variant }) => {
      const own = cells.get(variant.variantId) ?? [];
      return { ...variant, suspect: suspect === 1 || own.some((cell) => cell.suspect), cells: own };
    });
}
