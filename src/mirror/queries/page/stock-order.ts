/** The orders of the stock page. An index serves each, so that a page costs the same in a mirror of any size. */
import type { SQL } from 'drizzle-orm';
import { and, eq, gt, gte, isNull, not, sql } from '../../../sqlite/drizzle.ts';
import type { Db } from '../../../sqlite/open.ts';
import {
  existsIn,
  LISTED_ID,
  listOf,
  query,
  scalar,
  select,
  type Built,
  type Flag,
  type Params,
  type Query,
} from '../../../sqlite/query.ts';
import { stockLevels, variants } from '../../file/schema.ts';

/** `sku`: variants without one are the last. `changed`: by the latest `change_seq` of a variant or its stock levels. */
export interface StockOrder {
  readonly by: 'id' | 'sku' | 'changed';
  readonly isFalling: boolean;
}

/** A place in an order. */
export interface StockKey {
  /** The SKU or the `change_seq`; null in the order of ids, and for a variant without a SKU. */
  readonly value: string | number | null;
  readonly variantId: string;
}

const IS_OWN_LEVEL = and(eq(stockLevels.variantId, variants.variantId), isNull(stockLevels.goneAtMs));

/** One key of each variant has it: a webhook gives its number to a level and to the variant. */
export function isLatestChange(changeSeq: SQL): SQL | undefined {
  return and(
    gte(changeSeq, variants.changeSeq),
    not(existsIn(stockLevels, and(IS_OWN_LEVEL, gt(stockLevels.changeSeq, changeSeq)))),
  );
}

const LATEST_OF_LEVELS = scalar(
  select({ changeSeq: sql<number>`max(${stockLevels.changeSeq})` })
    .from(stockLevels)
    .where(IS_OWN_LEVEL),
);

export const LATEST_CHANGE = sql<number>`max(${variants.changeSeq}, coalesce(${LATEST_OF_LEVELS}, 0))`;

type Value = StockKey['value'];

const WAYS = {
  rising: { beyond: sql.raw('>'), sorted: sql.raw('asc'), variantId: '' },
  falling: { beyond: sql.raw('<'), sorted: sql.raw('desc'), variantId: '\u{10ffff}' },
} as const;
type WayName = keyof typeof WAYS;
type Way = (typeof WAYS)[WayName];

interface Place extends StockKey {
  readonly count: number;
}

/** Keys that one range of an index holds, or two of which SQLite merges. */
interface Stretch {
  readonly keys: Readonly<Record<WayName, Query<Place, StockKey>>>;
  /** The value to start from: below or above every other one. */
  readonly start: Readonly<Record<WayName, Value>>;
}

type Build = (params: Params<Place>, way: Way) => Built<StockKey>;

function stretch(start: Stretch['start'], build: Build): Stretch {
  const keysOf = (way: Way) => query<StockKey, Place>((params) => build(params, way));
  return { keys: { rising: keysOf(WAYS.rising), falling: keysOf(WAYS.falling) }, start };
}

const NO_VALUE = { rising: null, falling: null };

const BY_ID = stretch(NO_VALUE, (params, { beyond, sorted }) =>
  select({ value: sql<Value>`null`, variantId: variants.variantId })
    .from(variants)
    .where(sql`${variants.variantId} ${beyond} ${params.variantId}`)
    .orderBy(sql`${variants.variantId} ${sorted}`)
    .limit(params.count),
);

const BY_SKU = stretch({ rising: '', falling: '\u{10ffff}' }, (params, { beyond, sorted }) =>
  select({ value: sql<Value>`${variants.sku}`, variantId: variants.variantId })
    .from(variants)
    .where(sql`(${variants.sku}, ${variants.variantId}) ${beyond} (${params.value}, ${params.variantId})`)
    .orderBy(sql`${variants.sku} ${sorted}`, sql`${variants.variantId} ${sorted}`)
    .limit(params.count),
);

const WITHOUT_SKU = stretch(NO_VALUE, (params, { beyond, sorted }) =>
  select({ value: sql<Value>`null`, variantId: variants.variantId })
    .from(variants)
    .where(and(isNull(variants.sku), sql`${variants.variantId} ${beyond} ${params.variantId}`))
    .orderBy(sql`${variants.variantId} ${sorted}`)
    .limit(params.count),
);

const BY_CHANGE = stretch({ rising: -1, falling: Number.MAX_SAFE_INTEGER }, (params, { beyond, sorted }) => {
  const keysOf = (table: typeof variants | typeof stockLevels) =>
    select({ value: sql<Value>`${table.changeSeq}`, variantId: sql<string>`${table.variantId}` })
      .from(table)
      .where(
        and(
          isNull(table.goneAtMs),
          sql`(${table.changeSeq}, ${table.variantId}) ${beyond} (${params.value}, ${params.variantId})`,
        ),
      );
  return keysOf(variants)
    .union(keysOf(stockLevels))
    .orderBy(sql`1 ${sorted}`, sql`2 ${sorted}`)
    .limit(params.count);
});

const STRETCHES: Readonly<Record<StockOrder['by'], readonly Stretch[]>> = {
  id: [BY_ID],
  sku: [BY_SKU, WITHOUT_SKU],
  changed: [BY_CHANGE],
};

const KEYS_AT_ONCE = 500;

/**
 * Reads the keys after `from`, some at a time. Those of removed variants are among them, and by change each
 * variant has a key for each of its stock levels: `isLatestChange` finds the one that counts.
 */
export function* keysAfter(
  db: Db,
  { by, isFalling }: StockOrder,
  from: StockKey | null,
): Generator<readonly StockKey[]> {
  const way = wayOf(isFalling);
  const stretches = isFalling ? STRETCHES[by].toReversed() : STRETCHES[by];
  const begun = from === null ? 0 : stretches.findIndex((each) => holds(each, from));
  for (const [at, { keys: keysBeyond, start }] of stretches.slice(begun).entries()) {
    const first = { value: start[way], variantId: WAYS[way].variantId };
    let last: StockKey | undefined = at === 0 && from !== null ? from : first;
    while (last !== undefined) {
      const keys: StockKey[] = keysBeyond[way].all(db, { ...last, count: KEYS_AT_ONCE });
      if (keys.length > 0) yield keys;
      last = keys.length < KEYS_AT_ONCE ? undefined : keys.at(-1);
    }
  }
}

const wayOf = (isFalling: boolean): WayName => (isFalling ? 'falling' : 'rising');
const holds = ({ start }: Stretch, { value }: StockKey): boolean =>
  (start.rising === null) === (value === null);

interface Among extends StockKey {
  readonly idsJson: string;
  readonly isFirst: Flag;
}

const amongBy = (value: SQL<Value>) => {
  const keysOf = ({ beyond, sorted }: Way) =>
    query<StockKey, Among>((params) => {
      const placed = select({ value, variantId: variants.variantId })
        .from(listOf(params.idsJson))
        .innerJoin(variants, eq(variants.variantId, LISTED_ID))
        .as('placed');
      const isBeyond = sql`
        (placed.value is null, coalesce(placed.value, ''), ${placed.variantId})
          ${beyond} (${params.value} is null, coalesce(${params.value}, ''), ${params.variantId})`;
      return select({ value: sql<Value>`placed.value`, variantId: placed.variantId })
        .from(placed)
        .where(sql`${params.isFirst} or ${isBeyond}`)
        .orderBy(
          sql`placed.value is null ${sorted}`,
          sql`placed.value ${sorted}`,
          sql`${placed.variantId} ${sorted}`,
        );
    });
  return { rising: keysOf(WAYS.rising), falling: keysOf(WAYS.falling) };
};

const AMONG = {
  id: amongBy(sql<Value>`null`),
  sku: amongBy(sql<Value>`${variants.sku}`),
  changed: amongBy(LATEST_CHANGE),
};

/** Sorts some variants. Those whose place is not after `from` are left out. */
export function keysAmong(
  db: Db,
  { by, isFalling }: StockOrder,
  from: StockKey | null,
  variantIds: readonly string[],
): readonly StockKey[] {
  return AMONG[by][wayOf(isFalling)].all(db, {
    idsJson: JSON.stringify(variantIds),
    isFirst: from === null ? 1 : 0,
    value: from?.value ?? null,
    variantId: from?.variantId ?? '',
  });
}

/** `123`, `123:SKU` or `123:42`. An id has only digits. */
export function textOf({ value, variantId }: StockKey): string {
  return value === null ? variantId : `${variantId}:${value}`;
}

/** @returns null, which is the first page, for the text of no key of this order. */
export function keyOf({ by }: StockOrder, text: string): StockKey | null {
  const [, variantId = '', value = null] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? [];
  switch (by) {
    case 'id':
      return { value: null, variantId: text };
    case 'sku':
      return { value, variantId };
    case 'changed':
      return value !== null && /^\d{1,15}$/.test(value) ? { value: Number(value), variantId } : null;
  }
}
