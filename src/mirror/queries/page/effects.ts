/**
 * What became of each item of a delivery, as far as the database still shows. Which rule was taken is not kept. But a
 * changed stock level left a row of the feed with the delivery's place in the event log, and the rows of one stock
 * level chain, so the figure that the mirror held at any moment is known.
 */
import type { Source } from '../../../core/model.ts';
import type { StockChange } from '../../../core/entry.ts';
import type { Db } from '../../../sqlite/open.ts';
import { prepared } from '../../../sqlite/prepared.ts';
import { changesBefore, changesFrom, type Found } from '../variant-changes.ts';

type Outcome =
  /** The level became the item's `new`. `fromQty` null: it was seen for the first time. */
  | { readonly kind: 'applied'; readonly fromQty: number | null }
  /** The mirror had that figure already: from the same change before, or from a read that had seen it. */
  | { readonly kind: 'held' }
  /** The mirror kept another figure, because of something later that it knew. */
  | { readonly kind: 'kept'; readonly qty: number; readonly later: Later }
  /** The store no longer had it: a late change restores nothing. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly why: 'pruned' | 'too_long_ago' };

/** What the mirror knew, where the feed shows it: a change, by its time; one of the same instant; a read. */
export type Later =
  | { readonly kind: 'change' | 'same_instant' | 'read'; readonly atMs: number }
  | { readonly kind: 'not_on_record' };

export interface Effect {
  readonly outcome: Outcome;
  /**
   * Whether its product had to be re-read because of it, and whether it still must; `no` when nothing in the database
   * says so.
   */
  readonly suspicion: 'no' | 'open' | 'settled';
}

export interface LoggedItem extends StockChange {
  readonly effect: Effect;
}

interface Row {
  readonly seq: number;
  readonly logSeq: number;
  readonly variantId: string;
  readonly warehouseId: string | null;
  readonly oldQty: number | null;
  readonly newQty: number | null;
  readonly source: Source;
  readonly updateTimeMs: number | null;
  readonly recordedAtMs: number;
}

const COLUMNS = `seq, log_seq AS logSeq, variant_id AS variantId, warehouse_id AS warehouseId, old_qty AS oldQty,
  new_qty AS newQty, source, update_time_ms AS updateTimeMs, recorded_at_ms AS recordedAtMs`;

const FROM = `SELECT ${COLUMNS} FROM changes WHERE seq >= @seq ORDER BY seq`;

/** Rows of one variant searched for one of its warehouses: a variant may have many, and change often. */
const LOOKED_AT = 200;
/** Parts of the feed that are searched for it: some two million changes, in a millisecond. */
const SHARES_LOOKED_AT = 256;

/**
 * The items of the delivery at `seq` in the event log, each with its effect.
 * @param changes the first of them, or all.
 */
export function withEffects(
  db: Db,
  {
    seq,
    atMs,
    changes,
  }: { readonly seq: number; readonly atMs: number; readonly changes: readonly StockChange[] },
): LoggedItem[] {
  const start = firstChangeAt(db, seq);
  if (start === null) {
    const effect: Effect = { outcome: { kind: 'unknown', why: 'pruned' }, suspicion: 'no' };
    return changes.map((change) => ({ ...change, effect }));
  }
  const { own, endSeq } = changesOf(db, seq, start);
  return changes.map((change) => {
    const rows = own.get(levelOf(change)) ?? [];
    const outcome = outcomeOf(db, change, rows, { startSeq: start, endSeq });
    return { ...change, effect: { outcome, suspicion: suspicionOf(db, change, outcome, { seq, atMs }) } };
  });
}

const levelOf = ({ variantId, warehouseId }: { variantId: string; warehouseId: string | null }): string =>
  JSON.stringify([variantId, warehouseId]);

/**
 * The feed's position from which rows belong to this place in the event log, or to later ones; null: those are
 * pruned. Both only grow, so halving finds it without an index.
 */
function firstChangeAt(db: Db, logSeq: number): number | null {
  const bounds = prepared<[], { first: number | null; last: number | null; prunedSeq: number }>(
    db,
    `SELECT (SELECT min(seq) FROM changes) AS first, (SELECT max(seq) FROM changes) AS last,
         pruned_change_seq AS prunedSeq
       FROM service_state`,
  ).get();
  if (bounds === undefined) {
    throw new Error('service_state has no row: the database was changed by another program');
  }
  const { first, last, prunedSeq } = bounds;
  if (first === null || last === null) return prunedSeq === 0 ? 0 : null;
  const at = prepared<[number], { seq: number; logSeq: number }>(
    db,
    'SELECT seq, log_seq AS logSeq FROM changes WHERE seq >= ? ORDER BY seq LIMIT 1',
  );
  if (prunedSeq > 0 && (at.get(first)?.logSeq ?? 0) > logSeq) return null;
  let [low, high] = [first, last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = at.get(middle);
    if (row === undefined || row.logSeq >= logSeq) high = middle;
    else low = row.seq + 1;
  }
  return low;
}

/** The rows of this place in the event log, by stock level; and where those of the next one begin. */
function changesOf(db: Db, logSeq: number, startSeq: number): { own: Map<string, Row[]>; endSeq: number } {
  const own = new Map<string, Row[]>();
  let endSeq = startSeq;
  for (const row of prepared<object, Row>(db, FROM).iterate({ seq: startSeq })) {
    if (row.logSeq !== logSeq) break;
    endSeq = row.seq + 1;
    const key = levelOf(row);
    own.set(key, [...(own.get(key) ?? []), row]);
  }
  return { own, endSeq };
}

/** @param rows of this delivery and stock level, not yet assigned to an item; what it takes is removed. */
function outcomeOf(
  db: Db,
  change: StockChange,
  rows: Row[],
  { startSeq, endSeq }: { readonly startSeq: number; readonly endSeq: number },
): Outcome {
  const [next] = rows;
  if (next !== undefined && next.newQty === change.new && next.updateTimeMs === change.updateTimeMs) {
    rows.shift();
    return { kind: 'applied', fromQty: next.oldQty };
  }
  const held = next === undefined ? heldAt(db, change, endSeq) : next.oldQty;
  if (held === 'too_long_ago') return { kind: 'unknown', why: 'too_long_ago' };
  if (held === null) return { kind: 'gone' };
  if (held === change.new) return { kind: 'held' };
  return { kind: 'kept', qty: held, later: laterThan(db, change, startSeq) };
}

/** What the mirror held just before the feed's position; null: the stock level was removed, or did not exist. */
function heldAt(db: Db, change: StockChange, seq: number): number | null | 'too_long_ago' {
  const { variantId, warehouseId } = change;
  const level = prepared<object, { qty: number; goneAtMs: number | null; changeSeq: number }>(
    db,
    `SELECT qty, gone_at_ms AS goneAtMs, change_seq AS changeSeq FROM stock_levels
     WHERE variant_id = @variantId AND warehouse_id = @warehouseId`,
  ).get({ variantId, warehouseId });
  if (level === undefined) return null;
  if (level.changeSeq >= seq) {
    const asked = { variantId, columns: COLUMNS, shares: SHARES_LOOKED_AT, fromSeq: seq };
    const later = nearest(changesFrom<Row>(db, asked), change);
    if (later === 'too_far') return 'too_long_ago';
    if (later !== null) return later.oldQty;
  }
  return level.goneAtMs === null ? level.qty : null;
}

function laterThan(db: Db, change: StockChange, seq: number): Later {
  const asked = { variantId: change.variantId, columns: COLUMNS, shares: SHARES_LOOKED_AT, beforeSeq: seq };
  const row = nearest(changesBefore<Row>(db, asked), change);
  if (row === null || row === 'too_far') return { kind: 'not_on_record' };
  if (row.source === 'read') return { kind: 'read', atMs: row.recordedAtMs };
  const atMs = row.updateTimeMs ?? row.recordedAtMs;
  if (atMs === change.updateTimeMs && row.oldQty !== change.new) return { kind: 'same_instant', atMs };
  return atMs >= change.updateTimeMs ? { kind: 'change', atMs } : { kind: 'not_on_record' };
}

/** The nearest row of the item's stock level. */
function nearest(changes: Iterable<Found<Row>>, change: StockChange): Row | null | 'too_far' {
  let looked = 0;
  for (const found of changes) {
    if (found.kind === 'more') return 'too_far';
    if (found.row.warehouseId === change.warehouseId) return found.row;
    if (++looked === LOOKED_AT) return 'too_far';
  }
  return null;
}

/**
 * A re-read request that this delivery raised, or where it raised one (`@raises` 1), one that was open then and is
 * still open.
 */
const OPEN = `
  SELECT
    EXISTS (
      SELECT 1 FROM gaps WHERE variant_id = @variantId AND warehouse_id = @warehouseId AND opened_seq = @seq
    ) OR EXISTS (
      SELECT 1 FROM variants v JOIN read_requests o ON o.product_id = v.product_id
      WHERE v.variant_id = @variantId AND o.is_suspect = 1
        AND (o.made_seq = @seq OR (@raises = 1 AND o.made_seq > @seq AND o.first_made_at_ms <= @atMs))
    ) OR EXISTS (
      SELECT 1 FROM variants WHERE @raises = 1 AND variant_id = @variantId AND lookup_at_ms IS NOT NULL
    )`;

/** The rules raise one for these: a first sighting, a broken chain, one that seems to follow, an unknown order. */
function suspicionOf(
  db: Db,
  change: StockChange,
  outcome: Outcome,
  { seq, atMs }: { readonly seq: number; readonly atMs: number },
): Effect['suspicion'] {
  const raises =
    (outcome.kind === 'applied' && outcome.fromQty !== change.old) ||
    (outcome.kind === 'kept' && (outcome.qty === change.old || outcome.later.kind === 'same_instant'));
  const { variantId, warehouseId } = change;
  const args = { variantId, warehouseId, seq, atMs, raises: raises ? 1 : 0 };
  const isOpen = prepared<object, number>(db, OPEN).pluck().get(args);
  if (isOpen === 1) return 'open';
  return raises ? 'settled' : 'no';
}
