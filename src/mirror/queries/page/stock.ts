/** The ops page's stock search. It examines a bounded part of an index per call. */
import type { SQL } from 'drizzle-orm';
import {
  and,
  asc,
  count,
  desc,
  eq,
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
  type Params,
  type RowOf,
} from '../../../sqlite/query.ts';
import { products, stockLevels, variants } from '../../file/schema.ts';
import { fewSuspects, SUSPECT_TOTAL, type WhyNot } from '../../file/suspicion.ts';
import { mirrorSellable, mirrorStock } from '../../file/view-columns.ts';
import {
  isLatestChange,
  keyOf,
  keysAfter,
  keysAmong,
  LATEST_CHANGE,
  textOf,
  type StockKey,
  type StockOrder,
} from './stock-order.ts';

export interface StockSearch {
  /** The beginning of a SKU, which may have spaces; an id, or part of a name; blank for everything. */
  readonly text: string;
  readonly warehouseId: string | null;
  readonly suspect: boolean;
  /** Only variants of which nothing can be sold, or nothing in a warehouse. */
  readonly empty: boolean;
  readonly order: StockOrder;
  /** `next` of another page, or `previous` of one; both null: the first page. */
  readonly after: string | null;
  readonly before: string | null;
  readonly limit: number;
}

export interface StockPage {
  readonly variants: readonly StockVariant[];
  readonly previous: string | null;
  readonly next: string | null;
  /** The search stopped at its limit: the next page in its direction continues, though fewer were found than requested. */
  readonly isPartial: boolean;
}

const LOOKED_AT = 5_000;
const FEW = 2_000;

interface Typed {
  readonly text: string;
  /** With the spaces around it, which a SKU may have too. */
  readonly typed: string;
}

const NAMED = queryColumn((params: Params<Typed>) => {
  const idsWhere = (condition: SQL | undefined) =>
    select({ variantId: variants.variantId }).from(variants).where(condition);
  /** A prefix ends before its successor: U+10FFFF is above every character of a SKU. */
  const skuBegins = (prefix: Params<Typed>[keyof Typed], name: string) => {
    const few = idsWhere(and(gte(variants.sku, prefix), lt(variants.sku, sql`${prefix} || char(1114111)`)))
      .limit(FEW + 1)
      .as(name);
    return select({ variantId: few.variantId }).from(few);
  };
  return idsWhere(eq(variants.variantId, params.text))
    .union(idsWhere(eq(variants.productId, params.text)))
    .union(skuBegins(params.text, 'by_text'))
    .union(skuBegins(params.typed, 'by_typed'));
});

interface Wanted {
  /** Pairs of the id and the value of a key. */
  readonly keysJson: string;
  readonly text: string;
  readonly lower: string;
  readonly warehouseId: string | null;
  readonly suspect: Flag;
  readonly empty: Flag;
  readonly limit: number;
}

function isWanted(params: Params<Wanted>): SQL | undefined {
  const contains = (text: SQL) => sql`instr(lower(${text}), ${params.lower}) > 0`;
  const hasLevel = (condition: SQL) =>
    existsIn(
      stockLevels,
      and(eq(stockLevels.variantId, variants.variantId), isNull(stockLevels.goneAtMs), condition),
    );
  return and(
    isNull(variants.goneAtMs),
    or(
      sql`${params.lower} = ''`,
      eq(variants.variantId, params.text),
      eq(variants.productId, params.text),
      contains(sql`coalesce(${variants.sku}, '')`),
      contains(sql`${variants.name}`),
      contains(sql`coalesce(${products.name}, '')`),
    ),
    or(sql`${params.warehouseId} is null`, hasLevel(eq(stockLevels.warehouseId, params.warehouseId))),
    or(sql`${params.suspect} = 0`, sql.raw(SUSPECT_TOTAL), hasLevel(isNotNull(stockLevels.unexplainedAtMs))),
    or(sql`${params.empty} = 0`, lte(variants.availableQty, 0), hasLevel(lte(stockLevels.qty, 0))),
  );
}

/** Finds the places of the wanted variants in a list of keys. */
const wantedOf = (isHead: SQL | undefined) =>
  queryColumn((params: Params<Wanted>) =>
    select({ place: sql<number>`listed.key` })
      .from(listOf(params.keysJson))
      .crossJoin(variants)
      .leftJoin(products, eq(products.productId, variants.productId))
      .where(and(eq(variants.variantId, sql`listed.value ->> 0`), isHead, isWanted(params)))
      .orderBy(sql`listed.rowid`)
      .limit(params.limit),
  );

const WANTED = wantedOf(undefined);
const WANTED_BY_CHANGE = wantedOf(isLatestChange(sql`(listed.value ->> 1)`));

export function findStock(db: Db, search: StockSearch): StockPage {
  const { order, after, before, limit } = search;
  const position = before ?? after;
  const from = position === null ? null : keyOf(order, position);
  const isBack = from !== null && before !== null;
  const way = { ...order, isFalling: order.isFalling !== isBack };
  const ids = search.suspect ? fewSuspects(db) : fewNamed(db, search.text);
  const keys = ids === null ? keysAfter(db, way, from) : [keysAmong(db, way, from, ids)];
  const { found, stoppedAt } = firstWanted(db, search, keys);
  const shown = found.slice(0, limit);
  const hasMore = found.length > limit;
  const begin = from === null ? undefined : shown[0];
  const end = hasMore ? shown.at(-1) : stoppedAt;
  const inOrder = isBack ? shown.toReversed() : shown;
  const [previous, next] = isBack ? [end, begin] : [begin, end];
  return {
    variants: variantsWithLevels(
      db,
      inOrder.map(({ variantId }) => variantId),
    ),
    previous: previous === undefined ? null : textOf(previous),
    next: next === undefined ? null : textOf(next),
    isPartial: !hasMore && stoppedAt !== undefined,
  };
}

interface Found {
  /** One more than the page shows, if there are so many. */
  readonly found: readonly StockKey[];
  /** The last key that was examined, if the search stopped at its limit. */
  readonly stoppedAt: StockKey | undefined;
}

function firstWanted(db: Db, search: StockSearch, keys: Iterable<readonly StockKey[]>): Found {
  const text = search.text.trim();
  const most = search.limit + 1;
  const wanted = search.order.by === 'changed' ? WANTED_BY_CHANGE : WANTED;
  const found: StockKey[] = [];
  let examined = 0;
  for (const some of keys) {
    const places = wanted.all(db, {
      keysJson: JSON.stringify(some.map(({ variantId, value }) => [variantId, value])),
      text,
      // Like SQLite's lower(), only ASCII.
      lower: text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
      warehouseId: search.warehouseId,
      suspect: search.suspect ? 1 : 0,
      empty: search.empty ? 1 : 0,
      limit: most - found.length,
    });
    found.push(...places.flatMap((place) => some[place] ?? []));
    examined += some.length;
    if (found.length === most) break;
    if (examined >= LOOKED_AT) return { found, stoppedAt: some.at(-1) };
  }
  return { found, stoppedAt: undefined };
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

interface StockFacets {
  /** Those of the stock levels examined, which may lack a rare one in a large mirror. */
  readonly warehouseIds: readonly string[];
  /** Stock levels with nothing to sell; null if the mirror has too many levels to count them. */
  readonly empty: number | null;
}

/** Counts by warehouse among the stock levels that changed last. The index on `change_seq` finds these. */
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
