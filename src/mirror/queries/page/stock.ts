/** The ops page's stock search, in the order of SKUs. It examines a bounded part of an index per call. */
import type { SQL } from 'drizzle-orm';
import { and, asc, desc, eq, gt, gte, isNotNull, isNull, lt, lte, or, sql } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import {
  existsIn,
  flag,
  LISTED_ID,
  listOf,
  query,
  queryColumn,
  select,
  type Flag,
  type Params,
  type Query,
} from '../../../sqlite/query.ts';
import { products, stockLevels, variants } from '../../file/schema.ts';
import { SUSPECT_LEVEL, SUSPECT_TOTAL } from '../../file/suspicion.ts';
import { fewSuspects } from '../suspects.ts';
import { variantsWithLevels, type StockVariant } from './stock-rows.ts';

export interface StockSearch {
  /** The beginning of a SKU, an id, or part of a name; blank for everything. */
  readonly text: string;
  readonly warehouseId: string | null;
  /** Only variants with a suspect row in `mirror_sellable`. */
  readonly suspect: boolean;
  /** Only variants with nothing to sell, in all or in a warehouse. */
  readonly empty: boolean;
  /** `next` of the previous page; null: the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface StockPage {
  readonly variants: readonly StockVariant[];
  /** The last variant that was examined; null on the last page. */
  readonly next: string | null;
  /** The search stopped at its limit: the next page continues, though fewer were found than requested. */
  readonly isPartial: boolean;
}

const LOOKED_AT = 5_000;
const FEW = 2_000;

const NAMED = queryColumn((params: Params<{ text: string }>) => {
  const idsWhere = (condition: SQL | undefined) =>
    select({ variantId: variants.variantId }).from(variants).where(condition);
  /** A prefix ends before its successor: U+10FFFF is above every character of a SKU. */
  const skuBegins = idsWhere(
    and(gte(variants.sku, params.text), lt(variants.sku, sql`${params.text} || char(1114111)`)),
  )
    .limit(FEW + 1)
    .as('sku_begins');
  return idsWhere(eq(variants.variantId, params.text))
    .union(idsWhere(eq(variants.productId, params.text)))
    .union(select({ variantId: skuBegins.variantId }).from(skuBegins));
});

interface Filter {
  readonly text: string;
  readonly lower: string;
  readonly warehouseId: string | null;
  readonly suspect: Flag;
  readonly empty: Flag;
}

/** Columns of a row of `mirror_sellable`. */
const HAS_SUSPECT_TOTAL = and(
  eq(variants.soldAsTotal, 1),
  isNotNull(variants.availableQty),
  sql.raw(SUSPECT_TOTAL),
);

function isWanted(params: Params<Filter>): SQL | undefined {
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
    or(
      sql`${params.empty} = 0`,
      sql`coalesce(${variants.availableQty} <= 0, 0)`,
      hasLevel(lte(stockLevels.qty, 0)),
    ),
  );
}

/** A place in the order. Variants without a SKU are the last. */
interface Place {
  readonly sku: string | null;
  readonly variantId: string;
}

const FIRST: Place = { sku: '', variantId: '' };
const FIRST_WITHOUT_SKU: Place = { sku: null, variantId: '' };

const PLACE = query((params: Params<{ variantId: string }>) =>
  select({ sku: variants.sku, variantId: variants.variantId })
    .from(variants)
    .where(eq(variants.variantId, params.variantId)),
);

interface Examined {
  readonly variantId: string;
  readonly isWanted: Flag;
}

const fields = (params: Params<Filter>) => ({
  variantId: variants.variantId,
  isWanted: flag(sql`(${isWanted(params)})`),
});

/** @param isAfter the keys of an index after a place. */
const examinedIn = (
  order: readonly SQL[],
  isAfter: (params: Params<Place>) => SQL | undefined,
): Query<Filter & Place, Examined> =>
  query((params) =>
    select(fields(params))
      .from(variants)
      .leftJoin(products, eq(products.productId, variants.productId))
      .where(isAfter(params))
      .orderBy(...order),
  );

const WITH_SKU = examinedIn(
  [asc(variants.sku), asc(variants.variantId)],
  (params) => sql`(${variants.sku}, ${variants.variantId}) > (${params.sku}, ${params.variantId})`,
);

const WITHOUT_SKU = examinedIn([asc(variants.variantId)], (params) =>
  and(isNull(variants.sku), gt(variants.variantId, params.variantId)),
);

const AMONG = query((params: Params<Filter & Place & { idsJson: string }>) =>
  select(fields(params))
    .from(listOf(params.idsJson))
    .innerJoin(variants, eq(variants.variantId, LISTED_ID))
    .leftJoin(products, eq(products.productId, variants.productId))
    .where(
      sql`(${variants.sku} is null, coalesce(${variants.sku}, ''), ${variants.variantId})
        > (${params.sku} is null, coalesce(${params.sku}, ''), ${params.variantId})`,
    )
    .orderBy(sql`${variants.sku} is null`, asc(variants.sku), asc(variants.variantId)),
);

export function findStock(db: Db, search: StockSearch): StockPage {
  const found: string[] = [];
  let examined = 0;
  const page = (next: string | null, isPartial: boolean): StockPage => ({
    variants: variantsWithLevels(db, found),
    next,
    isPartial,
  });
  for (const { variantId, isWanted } of candidates(db, search)) {
    examined += 1;
    if (isWanted === 1) {
      if (found.length === search.limit) return page(found.at(-1) ?? null, false);
      found.push(variantId);
    }
    if (examined === LOOKED_AT) return page(variantId, true);
  }
  return page(null, false);
}

/** In order, from the page's first on. */
function* candidates(db: Db, search: StockSearch): Iterable<Examined> {
  const text = search.text.trim();
  const filter: Filter = {
    text,
    // Like SQLite's lower(), only ASCII.
    lower: text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    warehouseId: search.warehouseId,
    suspect: search.suspect ? 1 : 0,
    empty: search.empty ? 1 : 0,
  };
  const from = PLACE.get(db, { variantId: search.after ?? '' }) ?? FIRST;
  const ids = search.suspect ? fewSuspects(db, 'mirror_sellable') : fewNamed(db, text);
  if (ids !== null) {
    yield* AMONG.iterate(db, { ...filter, ...from, idsJson: JSON.stringify(ids) });
    return;
  }
  if (from.sku !== null) yield* WITH_SKU.iterate(db, { ...filter, ...from });
  yield* WITHOUT_SKU.iterate(db, { ...filter, ...(from.sku === null ? from : FIRST_WITHOUT_SKU) });
}

/** Variants named by an id or the beginning of a SKU; null if there are none, or too many. */
function fewNamed(db: Db, text: string): readonly string[] | null {
  if (text === '') return null;
  const ids = NAMED.all(db, { text });
  return ids.length === 0 || ids.length > FEW ? null : ids;
}

/** The index on `change_seq` finds these. */
const WAREHOUSES = queryColumn(() => {
  const latest = select({ warehouseId: stockLevels.warehouseId })
    .from(stockLevels)
    .where(isNull(stockLevels.goneAtMs))
    .orderBy(desc(stockLevels.changeSeq))
    .limit(LOOKED_AT)
    .as('latest');
  return select({ warehouseId: latest.warehouseId }).from(latest).groupBy(latest.warehouseId);
});

/** Those of the stock levels that changed last, which may lack a rare one in a large mirror. */
export function warehouseIds(db: Db): string[] {
  return WAREHOUSES.all(db);
}
