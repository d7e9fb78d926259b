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
  listOf,
  query,
  queryColumn,
  select,
  type Flag,
  type Params,
} from '../../../sqlite/query.ts';
import { products, stockLevels, variants } from '../../file/schema.ts';
import { SUSPECT_LEVEL, SUSPECT_TOTAL } from '../../file/suspicion.ts';
import { fewSuspects } from '../suspects.ts';
import {
  isLatestChange,
  keyOf,
  keysAfter,
  keysAmong,
  textOf,
  type StockKey,
  type StockOrder,
} from './stock-order.ts';
import { variantsWithLevels, type StockVariant } from './stock-rows.ts';

export interface StockSearch {
  /** The beginning of a SKU, which may have spaces; an id, or part of a name; blank for everything. */
  readonly text: string;
  readonly warehouseId: string | null;
  /** Only variants with a suspect row in `mirror_sellable`. */
  readonly suspect: boolean;
  /** Only variants with nothing to sell, in all or in a warehouse. */
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
  /**
   * The search stopped at its limit: the next page in its direction continues, though fewer were found than
   * requested.
   */
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

/** Columns of a row of `mirror_sellable`. */
const HAS_SUSPECT_TOTAL = and(
  eq(variants.soldAsTotal, 1),
  isNotNull(variants.availableQty),
  sql.raw(SUSPECT_TOTAL),
);

function isWanted(params: Params<Wanted>): SQL | undefined {
  const contains = (text: SQL) => sql`instr(lower(${text}), ${params.lower}) > 0`;
  const hasLevel = (condition: SQL) =>
    existsIn(
      stockLevels,
      and(eq(stockLevels.variantId, variants.variantId), isNull(stockLevels.goneAtMs), condition),
    );
  const hasSuspectLevel = and(eq(variants.soldAsTotal, 0), hasLevel(sql.raw(SUSPECT_LEVEL)));
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
    or(sql`${params.suspect} = 0`, HAS_SUSPECT_TOTAL, hasSuspectLevel),
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
  const ids = search.suspect ? fewSuspects(db, 'mirror_sellable') : fewNamed(db, search.text);
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
  /** At most one more than the page shows. */
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
