/**
 * What the schedule's model knows of each product (docs/freshness.md#in-the-mirror): gathered from the change feed and the
 * products into tables in memory. It is gone with the connection, and gathered again; nothing that readers see depends on it.
 */
import Database from 'better-sqlite3';
import { faded, RATE_CLASSES, type StoreActivity } from '../../core/freshness/activity.ts';
import { LossHistory } from '../../core/freshness/loss-history.ts';
import { placeOf, type Candidate } from '../../core/freshness/read-plan.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

/** Looked at in one query: a few milliseconds. */
const AT_ONCE = 2_000;
/** It begins so far back in the feed. */
const LOOK_BACK = 500_000;
/** Products whose own changes are counted: those that changed last. The others are taken to be quiet. */
const MOST_COUNTED = 100_000;
/** An answer may be applied so long after its request was sent. */
const READ_WITHIN_MS = 2 * 60_000;
/** A delivery so soon after a read that saw its change was not lost. */
const ON_ITS_WAY_MS = 10_000;

export interface ReadKnowledge {
  readonly tables: Db;
  readonly losses: LossHistory;
  /** Up to here in the feed. */
  changeSeq: number;
  /** Products read before were looked at. */
  readFromMs: number;
  /** Of all products, as of an instant. */
  changes: number;
  changesAtMs: number;
  readonly countOfClass: Float64Array;
}

export interface Counted {
  readonly productId: string;
  readonly rateClass: number;
  readonly certainAtMs: number;
  readonly changes: number;
  readonly changedAtMs: number;
}

const knowledge = new WeakMap<Db, ReadKnowledge>();

export function knowledgeOf(db: Db, nowMs: number): ReadKnowledge {
  let known = knowledge.get(db);
  if (known !== undefined) return known;
  const tables = new Database(':memory:');
  tables.exec(`
    CREATE TABLE counted (
      product_id TEXT PRIMARY KEY, rate_class INTEGER NOT NULL, certain_at_ms INTEGER NOT NULL,
      changes REAL NOT NULL, changed_at_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX counted_order ON counted (rate_class, certain_at_ms);
    CREATE INDEX counted_changed ON counted (changed_at_ms)`);
  const last = prepared<[], number | null>(db, 'SELECT max(seq) FROM changes').pluck().get() ?? 0;
  known = {
    tables,
    losses: LossHistory.begunAt(nowMs),
    changeSeq: Math.max(0, last - LOOK_BACK),
    readFromMs: nowMs,
    changes: 0,
    changesAtMs: nowMs,
    countOfClass: new Float64Array(RATE_CLASSES),
  };
  knowledge.set(db, known);
  return known;
}

export const COUNTED_COLUMNS =
  'product_id AS productId, rate_class AS rateClass, certain_at_ms AS certainAtMs, changes, changed_at_ms AS changedAtMs';

export function countedOf({ tables }: ReadKnowledge, productId: string): Counted | undefined {
  return prepared<[string], Counted>(
    tables,
    `SELECT ${COUNTED_COLUMNS} FROM counted WHERE product_id = ?`,
  ).get(productId);
}

/** Null: it is not in the mirror, or was never read. */
export function candidateOf(
  db: Db,
  { productId, changes, changedAtMs }: Pick<Counted, 'productId' | 'changes' | 'changedAtMs'>,
): Candidate | null {
  const found = prepared<[string], { readAtMs: number; levels: number }>(
    db,
    `SELECT p.read_at_ms AS readAtMs, max(1, coalesce(c.levels, 1)) AS levels
     FROM products p LEFT JOIN product_stock_levels c ON c.product_id = p.product_id
     WHERE p.product_id = ? AND p.gone_at_ms IS NULL AND p.read_at_ms > 0`,
  ).get(productId);
  return found === undefined ? null : { productId, changes, changedAtMs, ...found };
}

export function activityOf(db: Db, { changes, changesAtMs }: ReadKnowledge, nowMs: number): StoreActivity {
  const products = prepared<[], number>(db, 'SELECT products FROM live_counts').pluck().get() ?? 0;
  return { changes: faded(changes, nowMs - changesAtMs), products };
}

function leaveOut(known: ReadKnowledge, { productId, rateClass }: Counted): void {
  prepared<[string]>(known.tables, 'DELETE FROM counted WHERE product_id = ?').run(productId);
  known.countOfClass[rateClass] = (known.countOfClass[rateClass] ?? 0) - 1;
}

/** Puts a product where it belongs. */
export function put(known: ReadKnowledge, candidate: Candidate, nowMs: number, store: StoreActivity): void {
  const before = countedOf(known, candidate.productId);
  if (before !== undefined) leaveOut(known, before);
  const { rateClass, certainAtMs } = placeOf(candidate, nowMs, store);
  const { productId, changes, changedAtMs } = candidate;
  prepared<[Counted]>(
    known.tables,
    'INSERT INTO counted VALUES (@productId, @rateClass, @certainAtMs, @changes, @changedAtMs)',
  ).run({ productId, rateClass, certainAtMs, changes, changedAtMs });
  known.countOfClass[rateClass] = (known.countOfClass[rateClass] ?? 0) + 1;
}

interface FeedRow {
  readonly seq: number;
  readonly atMs: number;
  readonly source: string;
  readonly reason: string | null;
  readonly productId: string | null;
  /** When the latest delivery that named the level arrived. */
  readonly eventAtMs: number | null;
}

const FEED = `
  SELECT c.seq, c.recorded_at_ms AS atMs, c.source, c.reason, v.product_id AS productId, l.event_at_ms AS eventAtMs
  FROM (SELECT * FROM changes WHERE seq > ? ORDER BY seq LIMIT ${AT_ONCE}) c
  LEFT JOIN variants v ON v.variant_id = c.variant_id
  LEFT JOIN stock_levels l ON c.source = 'read' AND l.variant_id = c.variant_id AND l.warehouse_id = c.warehouse_id
  ORDER BY c.seq`;

/** A loss that was proven, and nothing in the feed tells. */
export interface ProvenGap {
  readonly productId: string;
  /** When the change arrived that does not follow the one before. */
  readonly openedAtMs: number;
}

/**
 * Takes note of what came since: a portion at a time, so that others are answered in between.
 *
 * @returns true: nothing is left.
 */
export function noteActivity(
  db: Db,
  args: { readonly nowMs: number; readonly gaps: readonly ProvenGap[] },
): boolean {
  const { nowMs } = args;
  const known = knowledgeOf(db, nowMs);
  return known.tables.transaction(() => {
    for (const { productId, openedAtMs } of args.gaps) {
      known.losses.proved(certainBefore(known, productId, openedAtMs), openedAtMs);
    }
    return noteChanges(db, known, nowMs) && noteReads(db, known, nowMs);
  })();
}

/** When the product was last certain before that; nothing is known of quiet ones. */
function certainBefore(known: ReadKnowledge, productId: string, atMs: number): number {
  return Math.min(atMs, countedOf(known, productId)?.certainAtMs ?? 0);
}

function noteChanges(db: Db, known: ReadKnowledge, nowMs: number): boolean {
  const rows = prepared<[number], FeedRow>(db, FEED).all(known.changeSeq);
  const counts = new Map<string, Pick<Counted, 'productId' | 'changes' | 'changedAtMs'>>();
  for (const { seq, atMs, source, reason, productId, eventAtMs } of rows) {
    known.changeSeq = seq;
    if (productId === null) continue;
    if (source === 'read') {
      const isOnItsWay = eventAtMs !== null && eventAtMs >= atMs && eventAtMs < atMs + ON_ITS_WAY_MS;
      const isLoss = (reason === 'gap' || reason === 'lost_tail') && !isOnItsWay;
      if (isLoss) known.losses.proved(certainBefore(known, productId, atMs), atMs);
      continue;
    }
    known.losses.received(1, atMs);
    known.changes = faded(known.changes, atMs - known.changesAtMs) + 1;
    known.changesAtMs = Math.max(known.changesAtMs, atMs);
    const before = counts.get(productId) ?? countedOf(known, productId) ?? { changes: 0, changedAtMs: atMs };
    const changes = faded(before.changes, atMs - before.changedAtMs) + 1;
    counts.set(productId, { productId, changes, changedAtMs: Math.max(atMs, before.changedAtMs) });
  }
  const store = activityOf(db, known, nowMs);
  for (const counted of counts.values()) {
    const candidate = candidateOf(db, counted);
    if (candidate !== null) put(known, candidate, nowMs, store);
  }
  forgetQuiet(known);
  return rows.length < AT_ONCE;
}

function forgetQuiet(known: ReadKnowledge): void {
  const counted = known.countOfClass.reduce((sum, one) => sum + one, 0);
  if (counted <= MOST_COUNTED) return;
  const quiet = prepared<[number], Counted>(
    known.tables,
    `SELECT ${COUNTED_COLUMNS} FROM counted ORDER BY changed_at_ms LIMIT ?`,
  ).all(counted - MOST_COUNTED);
  for (const one of quiet) leaveOut(known, one);
}

const READ_SINCE = `
  SELECT product_id AS productId, read_at_ms AS readAtMs FROM products
  WHERE gone_at_ms IS NULL AND read_at_ms >= ? ORDER BY read_at_ms LIMIT ${AT_ONCE}`;

/** A read makes a product certain. */
function noteReads(db: Db, known: ReadKnowledge, nowMs: number): boolean {
  const rows = prepared<[number], { productId: string; readAtMs: number }>(db, READ_SINCE).all(
    known.readFromMs,
  );
  const store = activityOf(db, known, nowMs);
  for (const { productId } of rows) {
    const counted = countedOf(known, productId);
    const candidate = counted === undefined ? null : candidateOf(db, counted);
    if (candidate !== null) put(known, candidate, nowMs, store);
  }
  const isAll = rows.length < AT_ONCE;
  const reachedMs = rows.at(-1)?.readAtMs ?? known.readFromMs;
  known.readFromMs = isAll ? nowMs - READ_WITHIN_MS : Math.max(reachedMs, known.readFromMs + 1);
  return isAll;
}
