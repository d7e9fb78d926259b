/** The ops page's stock search. It examines a bounded part of an index per call. */
import type { SQL } from 'drizzle-orm';
import {
  and,
  asc,
  count,
  desc,
  eq,
  gt,
  gte,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  sql,
} from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import {
  existsIn,
  isListed,
  LISTED_ID,
  listOf,
  query,
  queryColumn,
  select,
  type Flag,
  type Given,
  type RowOf,
} from '../../../sqlite/query.ts';
import { products, stockLevels, variants } from '../../file/schema.ts';
import { fewSuspects, SUSPECT_TOTAL, type WhyNot } from '../../file/suspicion.ts';
import { mirrorSellable, mirrorStock } from '../../file/view-columns.ts';

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

export interface StockPage {
  readonly variants: readonly StockVariant[];
  readonly next: string | null;
  /** The search stopped at its limit: `next` continues, though fewer were found than requested. */
  readonly isPartial: boolean;
}

const LOOKED_AT = 5_000;
const FEW = 2_000;

interface Typed {
  readonly text: string;
  /** With the spaces around it, which a SKU may have too. */
  readonly typed: string;
}

const NAMED = queryColumn((given: Given<Typed>) => {
  const idsWhere = (condition: SQL | undefined) =>
    select({ variantId: variants.variantId }).from(variants).where(condition);
  /** A prefix ends before its successor: U+10FFFF is above every character of a SKU. */
  const skuBegins = (prefix: Given<Typed>[keyof Typed], name: string) => {
    const few = idsWhere(and(gte(variants.sku, prefix), lt(variants.sku, sql`${prefix} || char(1114111)`)))
      .limit(FEW + 1)
      .as(name);
    return select({ variantId: few.variantId }).from(few);
  };
  return idsWhere(eq(variants.variantId, given.text))
    .union(idsWhere(eq(variants.productId, given.text)))
    .union(skuBegins(given.text, 'by_text'))
    .union(skuBegins(given.typed, 'by_typed'));
});

interface Wanted {
  readonly after: string;
  readonly text: string;
  readonly lower: string;
  readonly warehouseId: string | null;
  readonly suspect: Flag;
  readonly empty: Flag;
  readonly limit: number;
}

function isWanted(given: Given<Wanted>): SQL | undefined {
  const contains = (text: SQL) => sql`instr(lower(${text}), ${given.lower}) > 0`;
  const hasLevel = (condition: SQL) =>
    existsIn(
      stockLevels,
      and(eq(stockLevels.variantId, variants.variantId), isNull(stockLevels.goneAtMs), condition),
    );
  return and(
    gt(variants.variantId, given.after),
    isNull(variants.goneAtMs),
    or(
      sql`${given.lower} = ''`,
      eq(variants.variantId, given.text),
      eq(variants.productId, given.text),
      contains(sql`coalesce(${variants.sku}, '')`),
      contains(sql`${variants.name}`),
      contains(sql`coalesce(${products.name}, '')`),
    ),
    or(sql`${given.warehouseId} is null`, hasLevel(eq(stockLevels.warehouseId, given.warehouseId))),
    or(sql`${given.suspect} = 0`, sql.raw(SUSPECT_TOTAL), hasLevel(isNotNull(stockLevels.unexplainedAtMs))),
    or(sql`${given.empty} = 0`, lte(variants.availableQty, 0), hasLevel(lte(stockLevels.qty, 0))),
  );
}

const LISTED = queryColumn((given: Given<Wanted & { readonly idsJson: string }>) =>
  select({ variantId: variants.variantId })
    .from(listOf(given.idsJson))
    .crossJoin(variants)
    .leftJoin(products, eq(products.productId, variants.productId))
    .where(and(eq(variants.variantId, LISTED_ID), isWanted(given)))
    .orderBy(asc(variants.variantId))
    .limit(given.limit),
);

const WALKED = queryColumn((given: Given<Wanted & { readonly until: string }>) =>
  select({ variantId: variants.variantId })
    .from(variants)
    .leftJoin(products, eq(products.productId, variants.productId))
    .where(and(lte(variants.variantId, given.until), isWanted(given)))
    .orderBy(asc(variants.variantId))
    .limit(given.limit),
);

const BOUND = queryColumn((given: Given<{ after: string }>) =>
  select({ variantId: variants.variantId })
    .from(variants)
    .where(gt(variants.variantId, given.after))
    .orderBy(asc(variants.variantId))
    .limit(1)
    .offset(LOOKED_AT - 1),
);

export function findStock(db: Db, search: StockSearch): StockPage {
  const { warehouseId, limit } = search;
  const text = search.text.trim();
  const after = search.after ?? '';
  const wanted = {
    after,
    text,
    // Like SQLite's lower(), only ASCII.
    lower: text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    warehouseId,
    suspect: search.suspect ? (1 as const) : (0 as const),
    empty: search.empty ? (1 as const) : (0 as const),
    limit: limit + 1,
  };
  const ids = search.suspect ? fewSuspects(db) : fewNamed(db, search.text);
  const until = ids === null ? (BOUND.get(db, { after }) ?? null) : null;
  const found =
    ids === null
      ? WALKED.all(db, { ...wanted, until: until ?? '\u{10ffff}' })
      : LISTED.all(db, { ...wanted, idsJson: JSON.stringify(ids) });
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
  const ids = NAMED.all(db, { text, typed });
  return ids.length === 0 || ids.length > FEW ? null : ids;
}

interface Ids {
  readonly idsJson: string;
}

const VARIANTS = query((given: Given<Ids>) =>
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
  })
    .from(listOf(given.idsJson))
    .innerJoin(variants, eq(variants.variantId, LISTED_ID))
    .leftJoin(products, eq(products.productId, variants.productId))
    .orderBy(sql`listed.key`),
);

const STOCK_LEVELS = query((given: Given<Ids>) =>
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
    .from(listOf(given.idsJson))
    .innerJoin(mirrorStock, eq(mirrorStock.variant_id, LISTED_ID))
    .orderBy(sql`listed.key`, asc(mirrorStock.warehouse_id)),
);

const SELLABLE = query((given: Given<Ids>) =>
  select({
    variantId: mirrorSellable.variant_id,
    warehouseId: mirrorSellable.warehouse_id,
    whyNot: mirrorSellable.why_not,
  })
    .from(mirrorSellable)
    .where(isListed(mirrorSellable.variant_id, given.idsJson)),
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
  const given = { idsJson: JSON.stringify(variantIds) };
  const levels = Map.groupBy(STOCK_LEVELS.all(db, given), ({ variantId }) => variantId);
  const sellable = Map.groupBy(SELLABLE.all(db, given), ({ variantId }) => variantId);
  return VARIANTS.all(db, given).map(({ suspect, ...variant }) => {
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

interface StockFacets {
  /** Those of the stock levels examined, which may lack a rare one in a large mirror. */
  readonly warehouseIds: readonly string[];
  /** Stock levels with nothing to sell; null if the mirror has too many levels to count them. */
  readonly empty: number | null;
}

/** Of the levels that changed last, by the index of the feed. */
const FACETS = query(() => {
  const latest = select({ warehouseId: stockLevels.warehouseId, qty: stockLevels.qty })
    .from(stockLevels)
    .where(isNull(stockLevels.goneAtMs))
    .orderBy(desc(stockLevels.changeSeq))
    .limit(LOOKED_AT)
    .as('latest');
  return select({
    warehouseId: latest.warehouseId,
    levels: count(),
    /** Stock levels with nothing to sell. */
    empty: sql<number>`coalesce(sum(${latest.qty} <= 0), 0)`,
  })
    .from(latest)
    .groupBy(latest.warehouseId)
    .orderBy(asc(latest.warehouseId));
});

/** Warehouses that the stock page's filter lists, and the number next to its filter `Nothing to sell`. */
export function stockFacets(db: Db): StockFacets {
  const counts = FACETS.all(db);
  const sum = (of: 'levels' | 'empty'): number => counts.reduce((total, count) => total + count[of], 0);
  return {
    warehouseIds: counts.map(({ warehouseId }) => warehouseId),
    empty: sum('levels') === LOOKED_AT ? null : sum('empty'),
  };
}
