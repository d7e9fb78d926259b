/**
 * The page's search for one thing by what identifies it: a SKU or its beginning, the id of a variant, a product, a request or
 * an order, or a time. Each part asks an index and is bounded, however large the mirror.
 */
import { readDelivery, type DeliveryKind } from '../../../event-log/entries.ts';
import type { Db } from '../../../sqlite/open.ts';
import { prepared } from '../../../sqlite/prepared.ts';
import { SHARE_BITS } from '../../file/shares.ts';
import { sharesNewestFirst } from '../variant-changes.ts';

/** From `fromMs` up to `untilMs`, which is not in it. */
export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Search {
  readonly text: string;
  /** What the text says as a time; null: it is none. */
  readonly span: Span | null;
  /** The most of each kind. */
  readonly limit: number;
}

export interface FoundVariant {
  readonly variantId: string;
  readonly productId: string | null;
  readonly sku: string | null;
  readonly name: string;
  readonly productName: string | null;
  readonly isGone: boolean;
}

export interface FoundDelivery {
  readonly seq: number;
  readonly atMs: number;
  readonly by: 'request' | 'order' | 'time';
}

/** A figure that a read set at that time. */
export interface FoundChange {
  readonly seq: number;
  readonly variantId: string;
  readonly warehouseId: string | null;
  readonly sku: string | null;
  readonly oldQty: number | null;
  readonly newQty: number | null;
  readonly recordedAtMs: number;
}

interface Portion<T> {
  readonly found: readonly T[];
  readonly hasMore: boolean;
}

export interface SearchResult {
  /** By an id, or by the whole SKU. */
  readonly variants: Portion<FoundVariant>;
  /** By the beginning of their SKU; empty when there are `variants`. */
  readonly begunSkus: Portion<FoundVariant>;
  /** Newest first; of a time, oldest first. */
  readonly deliveries: Portion<FoundDelivery>;
  readonly changes: Portion<FoundChange>;
  /** Below this place in the event log are the entries before the end of `span`; null: no time was searched for. */
  readonly beforeSeq: number | null;
}

/** Shares of the feed that are searched: some forty million changes, in a hundredth of a second. */
const SHARES_LOOKED_AT = 5_000;
/** A delivery that changed no figure is not in the feed: of the event log's end, this many entries are looked through. */
const ENTRIES_LOOKED_AT = 5_000;
const LARGEST_LOOKED_THROUGH = 16 << 10;
/**
 * Ids of requests and orders are indexed by so much of their ends: enough to tell most of a share's apart, and a fifth of
 * the room.
 */
const INDEXED_END = 4;

const VARIANT = `
  SELECT v.variant_id AS variantId, v.product_id AS productId, v.sku AS sku, v.name AS name, p.name AS productName,
    v.gone_at_ms IS NOT NULL AS isGone
  FROM variants v LEFT JOIN products p ON p.product_id = v.product_id`;

const BY_ID = `${VARIANT} WHERE v.variant_id = @text LIMIT @limit`;
const BY_PRODUCT = `${VARIANT} WHERE v.product_id = @text LIMIT @limit`;
const BY_SKU = `${VARIANT} WHERE v.sku = @text LIMIT @limit`;
// As in stock.ts: U+10FFFF is after every character that a SKU can have.
const BY_BEGINNING = `${VARIANT}
  WHERE v.sku >= @text AND v.sku < @text || char(1114111) AND v.gone_at_ms IS NULL ORDER BY v.sku LIMIT @limit`;

const IN_SHARE = `SELECT log_seq AS seq, recorded_at_ms AS atMs FROM changes WHERE seq >> ${SHARE_BITS} = @share`;
const endOf = (id: string): string => `substr(${id}, -${INDEXED_END})`;
const BY_ORDER = `${IN_SHARE}
  AND ${endOf('order_id')} = ${endOf('@text')} AND order_id = @text ORDER BY seq DESC`;
const BY_REQUEST = `${IN_SHARE}
  AND source = 'webhook' AND ${endOf('request_id')} = ${endOf('@text')} AND request_id = @text ORDER BY seq DESC`;

const LATEST = `
  SELECT seq, kind, at_ms AS atMs, payload FROM log
  WHERE seq > (SELECT max(seq) FROM log) - ${ENTRIES_LOOKED_AT} AND kind IN ('delivery', 'unmerged')
    AND length(payload) <= ${LARGEST_LOOKED_THROUGH} AND instr(payload, @quoted) > 0
  ORDER BY seq DESC`;

const DELIVERIES_FROM = `
  SELECT seq, at_ms AS atMs FROM log
  WHERE seq >= @fromSeq AND seq < @untilSeq AND seq < @fromSeq + ${ENTRIES_LOOKED_AT} AND kind IN ('delivery', 'unmerged')
  ORDER BY seq LIMIT @limit`;

const CHANGES_FROM = `
  SELECT seq, variant_id AS variantId, warehouse_id AS warehouseId, sku, old_qty AS oldQty, new_qty AS newQty, source,
    recorded_at_ms AS recordedAtMs
  FROM changes WHERE recorded_at_ms >= @fromMs AND recorded_at_ms < @untilMs ORDER BY recorded_at_ms, seq`;

export function search(db: Db, { text, span, limit }: Search): SearchResult {
  const variants = variantsOf(db, text, limit);
  const begunSkus = variants.length > 0 ? [] : beginningWith(db, text, limit);
  const isTime = span !== null;
  const beforeSeq = isTime ? firstEntryAt(db, span.untilMs) : null;
  const found = new Map<number, FoundDelivery>();
  for (const each of [...deliveriesOf(db, text, limit), ...latestOf(db, text, limit)])
    found.set(each.seq, each);
  const named = [...found.values()].toSorted((a, b) => b.seq - a.seq);
  const timed = isTime ? deliveriesIn(db, span, beforeSeq ?? 0, limit) : [];
  return {
    variants: portionOf(variants, limit),
    begunSkus: portionOf(begunSkus, limit),
    deliveries: portionOf([...named, ...timed], limit),
    changes: portionOf(isTime ? changesIn(db, span, limit) : [], limit),
    beforeSeq,
  };
}

/** @param found up to one more than the limit. */
function portionOf<T>(found: readonly T[], limit: number): Portion<T> {
  return { found: found.slice(0, limit), hasMore: found.length > limit };
}

type VariantRow = Omit<FoundVariant, 'isGone'> & { readonly isGone: number };

function variantsBy(db: Db, sql: string, text: string, limit: number): FoundVariant[] {
  return prepared<object, VariantRow>(db, sql)
    .all({ text, limit: limit + 1 })
    .map(({ isGone, ...variant }) => ({ ...variant, isGone: isGone === 1 }));
}

function variantsOf(db: Db, text: string, limit: number): FoundVariant[] {
  const found = [BY_ID, BY_PRODUCT, BY_SKU].flatMap((sql) => variantsBy(db, sql, text, limit));
  return [...new Map(found.map((variant) => [variant.variantId, variant])).values()];
}

/** Typed in small letters, a SKU is mostly meant in capitals. */
function beginningWith(db: Db, text: string, limit: number): FoundVariant[] {
  const found = variantsBy(db, BY_BEGINNING, text, limit);
  const capitals = text.toUpperCase();
  return found.length > 0 || capitals === text ? found : variantsBy(db, BY_BEGINNING, capitals, limit);
}

/** Those that moved a figure. */
function deliveriesOf(db: Db, text: string, limit: number): FoundDelivery[] {
  const found = new Map<number, FoundDelivery>();
  let looked = 0;
  for (const share of sharesNewestFirst(db)) {
    for (const [by, sql] of [
      ['request', BY_REQUEST],
      ['order', BY_ORDER],
    ] as const) {
      for (const row of prepared<object, { seq: number; atMs: number }>(db, sql).iterate({ share, text })) {
        found.set(row.seq, { ...row, by });
        if (found.size > limit) return [...found.values()];
      }
    }
    looked += 1;
    if (looked === SHARES_LOOKED_AT) break;
  }
  return [...found.values()];
}

/** The latest, also those that moved nothing or were not understood. */
function latestOf(db: Db, text: string, limit: number): FoundDelivery[] {
  const found: FoundDelivery[] = [];
  const quoted = Buffer.from(JSON.stringify(text));
  const rows = prepared<object, { seq: number; kind: DeliveryKind; atMs: number; payload: Buffer }>(
    db,
    LATEST,
  );
  for (const { seq, kind, atMs, payload } of rows.iterate({ quoted })) {
    const { requestId, changes } = readDelivery(kind, payload);
    if (requestId === text) found.push({ seq, atMs, by: 'request' });
    else if (changes.some(({ orderId }) => orderId === text)) found.push({ seq, atMs, by: 'order' });
    if (found.length > limit) break;
  }
  return found;
}

function deliveriesIn(db: Db, { fromMs }: Span, untilSeq: number, limit: number): FoundDelivery[] {
  return prepared<object, { seq: number; atMs: number }>(db, DELIVERIES_FROM)
    .all({ fromSeq: firstEntryAt(db, fromMs), untilSeq, limit: limit + 1 })
    .map((row) => ({ ...row, by: 'time' }));
}

/** Those of deliveries are left out: the deliveries themselves are found. */
function changesIn(db: Db, { fromMs, untilMs }: Span, limit: number): FoundChange[] {
  const found: FoundChange[] = [];
  let looked = 0;
  const rows = prepared<object, FoundChange & { readonly source: string }>(db, CHANGES_FROM);
  for (const { source, ...change } of rows.iterate({ fromMs, untilMs })) {
    if (source === 'read') found.push(change);
    looked += 1;
    if (found.length > limit || looked === ENTRIES_LOOKED_AT) break;
  }
  return found;
}

/** The first place in the event log that is at or after this time. Times grow with places, so halving finds it. */
function firstEntryAt(db: Db, ms: number): number {
  const edge = (sql: string): number => prepared<[], number | null>(db, sql).pluck().get() ?? 0;
  const atMs = prepared<[number], number>(
    db,
    'SELECT at_ms FROM log WHERE seq >= ? ORDER BY seq LIMIT 1',
  ).pluck();
  let low = edge('SELECT min(seq) FROM log');
  let high = edge('SELECT max(seq) FROM log') + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((atMs.get(middle) ?? Infinity) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
