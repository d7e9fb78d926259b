/**
 * What the schedule reads (docs/freshness.md#in-the-mirror). What the model needs to know is gathered from the change feed and
 * the products, into tables in memory: it is gone with the connection, and gathered again. Nothing that readers see depends
 * on it.
 */
import Database from 'better-sqlite3';
import {
  faded,
  RATE_CLASSES,
  rateClassOf,
  shareOf,
  type StoreActivity,
} from '../../core/freshness/activity.ts';
import { LossHistory } from '../../core/freshness/loss-history.ts';
import { expectedWrongAt } from '../../core/freshness/outlook.ts';
import { overdueReads, readsIn, readsPerHour } from '../../core/freshness/read-budget.ts';
import {
  chooseReads,
  LEAST_MS,
  placeOf,
  type Candidate,
  type Candidates,
} from '../../core/freshness/read-plan.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

/** Looked at in one query: a few milliseconds. */
const AT_ONCE = 2_000;
/** A new plan begins so far back in the feed. */
const LOOK_BACK = 500_000;
/** Products whose own changes are counted: those that changed last. The others are taken to be quiet. */
const MOST_COUNTED = 100_000;
/** An answer may be applied so long after its request was sent. */
const READ_WITHIN_MS = 2 * 60_000;
/** A delivery so soon after a read that saw its change was not lost. */
const ON_ITS_WAY_MS = 10_000;

interface Plan {
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
  outlook: ReadOutlook | null;
}

/** What the schedule is expected to leave. */
export interface ReadOutlook {
  /** Of the changes to come. */
  readonly loss_rate: number;
  /** What the schedule may ask for at present. */
  readonly reads_per_hour: number;
  /** Stock levels that are expected to be wrong at a time, with that budget. */
  readonly expected_wrong: number;
  /** The same for other budgets. */
  readonly curve: readonly { readonly reads_per_hour: number; readonly expected_wrong: number }[];
}

interface Counted {
  readonly productId: string;
  readonly rateClass: number;
  readonly certainAtMs: number;
  readonly changes: number;
  readonly changedAtMs: number;
}

const plans = new WeakMap<Db, Plan>();

function planOf(db: Db, nowMs: number): Plan {
  let plan = plans.get(db);
  if (plan !== undefined) return plan;
  const tables = new Database(':memory:');
  tables.exec(`
    CREATE TABLE counted (
      product_id TEXT PRIMARY KEY, rate_class INTEGER NOT NULL, certain_at_ms INTEGER NOT NULL,
      changes REAL NOT NULL, changed_at_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX counted_order ON counted (rate_class, certain_at_ms);
    CREATE INDEX counted_changed ON counted (changed_at_ms)`);
  const last = prepared<[], number | null>(db, 'SELECT max(seq) FROM changes').pluck().get() ?? 0;
  plan = {
    tables,
    losses: LossHistory.begunAt(nowMs),
    changeSeq: Math.max(0, last - LOOK_BACK),
    readFromMs: nowMs,
    changes: 0,
    changesAtMs: nowMs,
    countOfClass: new Float64Array(RATE_CLASSES),
    outlook: null,
  };
  plans.set(db, plan);
  return plan;
}

const COLUMNS =
  'product_id AS productId, rate_class AS rateClass, certain_at_ms AS certainAtMs, changes, changed_at_ms AS changedAtMs';

function countedOf({ tables }: Plan, productId: string): Counted | undefined {
  return prepared<[string], Counted>(tables, `SELECT ${COLUMNS} FROM counted WHERE product_id = ?`).get(
    productId,
  );
}

/** Null: it is not in the mirror, or was never read. */
function candidateOf(
  db: Db,
  { productId, changes, changedAtMs }: Pick<Counted, 'productId' | 'changes' | 'changedAtMs'>,
): Candidate | null {
  const found = prepared<[string], { readAtMs: number; levels: number }>(
    db,
    `SELECT p.read_at_ms AS readAtMs, max(1, coalesce(c.cells, 1)) AS levels
     FROM products p LEFT JOIN product_cells c ON c.product_id = p.product_id
     WHERE p.product_id = ? AND p.gone_at_ms IS NULL AND p.read_at_ms > 0`,
  ).get(productId);
  return found === undefined ? null : { productId, changes, changedAtMs, ...found };
}

function isRequested(db: Db, productId: string): boolean {
  return (
    prepared<[string]>(db, 'SELECT 1 FROM obligations WHERE product_id = ?').get(productId) !== undefined
  );
}

function activityOf(db: Db, { changes, changesAtMs }: Plan, nowMs: number): StoreActivity {
  const products = prepared<[], number>(db, 'SELECT products FROM live_counts').pluck().get() ?? 0;
  return { changes: faded(changes, nowMs - changesAtMs), products };
}

function leaveOut(plan: Plan, { productId, rateClass }: Counted): void {
  prepared<[string]>(plan.tables, 'DELETE FROM counted WHERE product_id = ?').run(productId);
  plan.countOfClass[rateClass] = (plan.countOfClass[rateClass] ?? 0) - 1;
}

/** Puts a product where it belongs. */
function put(plan: Plan, candidate: Candidate, nowMs: number, store: StoreActivity): void {
  const before = countedOf(plan, candidate.productId);
  if (before !== undefined) leaveOut(plan, before);
  const { rateClass, certainAtMs } = placeOf(candidate, nowMs, store);
  const { productId, changes, changedAtMs } = candidate;
  prepared<[Counted]>(
    plan.tables,
    'INSERT INTO counted VALUES (@productId, @rateClass, @certainAtMs, @changes, @changedAtMs)',
  ).run({ productId, rateClass, certainAtMs, changes, changedAtMs });
  plan.countOfClass[rateClass] = (plan.countOfClass[rateClass] ?? 0) + 1;
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
  LEFT JOIN cells l ON c.source = 'read' AND l.variant_id = c.variant_id AND l.warehouse_id = c.warehouse_id
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
export function notePlan(
  db: Db,
  args: { readonly nowMs: number; readonly gaps: readonly ProvenGap[] },
): boolean {
  const { nowMs } = args;
  const plan = planOf(db, nowMs);
  return plan.tables.transaction(() => {
    for (const { productId, openedAtMs } of args.gaps) {
      plan.losses.proved(certainBefore(plan, productId, openedAtMs), openedAtMs);
    }
    return noteChanges(db, plan, nowMs) && noteReads(db, plan, nowMs);
  })();
}

/** When the product was last certain before that; nothing is known of quiet ones. */
function certainBefore(plan: Plan, productId: string, atMs: number): number {
  return Math.min(atMs, countedOf(plan, productId)?.certainAtMs ?? 0);
}

function noteChanges(db: Db, plan: Plan, nowMs: number): boolean {
  const rows = prepared<[number], FeedRow>(db, FEED).all(plan.changeSeq);
  const counts = new Map<string, Pick<Counted, 'productId' | 'changes' | 'changedAtMs'>>();
  for (const { seq, atMs, source, reason, productId, eventAtMs } of rows) {
    plan.changeSeq = seq;
    if (productId === null) continue;
    if (source === 'read') {
      const isOnItsWay = eventAtMs !== null && eventAtMs >= atMs && eventAtMs < atMs + ON_ITS_WAY_MS;
      const isLoss = (reason === 'gap' || reason === 'lost_tail') && !isOnItsWay;
      if (isLoss) plan.losses.proved(certainBefore(plan, productId, atMs), atMs);
      continue;
    }
    plan.losses.received(1, atMs);
    plan.changes = faded(plan.changes, atMs - plan.changesAtMs) + 1;
    plan.changesAtMs = Math.max(plan.changesAtMs, atMs);
    const before = counts.get(productId) ?? countedOf(plan, productId) ?? { changes: 0, changedAtMs: atMs };
    const changes = faded(before.changes, atMs - before.changedAtMs) + 1;
    counts.set(productId, { productId, changes, changedAtMs: Math.max(atMs, before.changedAtMs) });
  }
  const store = activityOf(db, plan, nowMs);
  for (const counted of counts.values()) {
    const candidate = candidateOf(db, counted);
    if (candidate !== null) put(plan, candidate, nowMs, store);
  }
  forgetQuiet(plan);
  return rows.length < AT_ONCE;
}

function forgetQuiet(plan: Plan): void {
  const counted = plan.countOfClass.reduce((sum, one) => sum + one, 0);
  if (counted <= MOST_COUNTED) return;
  const quiet = prepared<[number], Counted>(
    plan.tables,
    `SELECT ${COLUMNS} FROM counted ORDER BY changed_at_ms LIMIT ?`,
  ).all(counted - MOST_COUNTED);
  for (const one of quiet) leaveOut(plan, one);
}

const READ_SINCE = `
  SELECT product_id AS productId, read_at_ms AS readAtMs FROM products
  WHERE gone_at_ms IS NULL AND read_at_ms >= ? ORDER BY read_at_ms LIMIT ${AT_ONCE}`;

/** A read makes a product certain. */
function noteReads(db: Db, plan: Plan, nowMs: number): boolean {
  const rows = prepared<[number], { productId: string; readAtMs: number }>(db, READ_SINCE).all(
    plan.readFromMs,
  );
  const store = activityOf(db, plan, nowMs);
  for (const { productId } of rows) {
    const counted = countedOf(plan, productId);
    const candidate = counted === undefined ? null : candidateOf(db, counted);
    if (candidate !== null) put(plan, candidate, nowMs, store);
  }
  const isAll = rows.length < AT_ONCE;
  const reachedMs = rows.at(-1)?.readAtMs ?? plan.readFromMs;
  plan.readFromMs = isAll ? nowMs - READ_WITHIN_MS : Math.max(reachedMs, plan.readFromMs + 1);
  return isAll;
}

interface PlanArgs {
  readonly nowMs: number;
  /** Since reads were last chosen. */
  readonly elapsedMs: number;
  /** The budget while nothing is proven lost. */
  readonly readsPerHour: number;
  /** No product goes unread for longer. */
  readonly longestMs: number;
}

const OVERDUE = `
  SELECT product_id FROM products p
  WHERE gone_at_ms IS NULL AND read_at_ms < ?
    AND NOT EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = p.product_id)
  ORDER BY read_at_ms LIMIT ?`;

/** The products to read now, without those that are requested already. Call `notePlan` first. */
export function planReads(db: Db, args: PlanArgs): string[] {
  const { nowMs, elapsedMs, longestMs } = args;
  const plan = planOf(db, nowMs);
  const store = activityOf(db, plan, nowMs);
  const losses = plan.losses.at(nowMs);
  const perHour = readsPerHour(args.readsPerHour, losses.provenInLastHour);
  const overdue = prepared<[number, number], string>(db, OVERDUE)
    .pluck()
    .all(nowMs - longestMs / 2, overdueReads(store.products, elapsedMs, longestMs));
  const limit = Math.max(0, Math.floor(readsIn(elapsedMs, perHour)) - overdue.length);
  const streams = new Streams(db, plan, rateClassOf(shareOf(0, store)));
  try {
    const { chosen, misplaced } = chooseReads(streams, { limit, leastMs: LEAST_MS, losses, store });
    streams.close();
    plan.tables.transaction(() => {
      for (const candidate of misplaced) {
        if (countedOf(plan, candidate.productId) !== undefined) put(plan, candidate, nowMs, store);
      }
    })();
    plan.outlook = outlookOf(plan, store, { ...losses, perHour, atRest: args.readsPerHour });
    return [...new Set([...overdue, ...chosen.map(({ productId }) => productId)])];
  } finally {
    streams.close();
  }
}

/** What was last chosen for; null: nothing yet. */
export function readOutlook(db: Db): ReadOutlook | null {
  return plans.get(db)?.outlook ?? null;
}

const CURVE = [0, 1, 2, 5, 10, 20, 50];

function outlookOf(
  { countOfClass }: Plan,
  store: StoreActivity,
  now: { lossRate: number; changesPerMs: number; perHour: number; atRest: number },
): ReadOutlook {
  const quiet = rateClassOf(shareOf(0, store));
  const counted = countOfClass.reduce((sum, one) => sum + one, 0);
  const all = countOfClass.map(
    (count, i) => count + (i === quiet ? Math.max(0, store.products - counted) : 0),
  );
  const wrongAt = (reads: number): number =>
    expectedWrongAt({ countOfClass: all, changesPerMs: now.changesPerMs, lossRate: now.lossRate }, reads);
  return {
    loss_rate: now.lossRate,
    reads_per_hour: Math.round(now.perHour),
    expected_wrong: wrongAt(now.perHour),
    curve: CURVE.map((times) => times * Math.max(1, now.atRest)).map((reads) => ({
      reads_per_hour: reads,
      expected_wrong: wrongAt(reads),
    })),
  };
}

/** More counted products than this in a row are not passed over for a quiet one. */
const PASSED_OVER = 5_000;

/** The products of each class, in the order of the plan; the quiet ones in that of their reads. */
class Streams implements Candidates {
  readonly classes: readonly number[];
  readonly #db: Db;
  readonly #plan: Plan;
  readonly #quietClass: number;
  readonly #streams = new Map<number, IterableIterator<Counted>>();
  readonly #quiet: IterableIterator<Pick<Counted, 'productId' | 'certainAtMs'>>;
  /** Taken off its stream, and behind the other of its class. */
  readonly #waiting = new Map<'counted' | 'quiet', Candidate & { readonly certainAtMs: number }>();

  constructor(db: Db, plan: Plan, quietClass: number) {
    this.#db = db;
    this.#plan = plan;
    this.#quietClass = quietClass;
    const classes = Array.from(plan.countOfClass.keys()).filter((i) => (plan.countOfClass[i] ?? 0) > 0);
    this.classes = [...new Set([...classes, quietClass])];
    for (const rateClass of classes) {
      // A statement of its own for each, since they are open side by side.
      const stream = plan.tables.prepare<[number], Counted>(
        `SELECT ${COLUMNS} FROM counted WHERE rate_class = ? ORDER BY certain_at_ms`,
      );
      this.#streams.set(rateClass, stream.iterate(rateClass));
    }
    this.#quiet = db
      .prepare<[], Pick<Counted, 'productId' | 'certainAtMs'>>(
        `SELECT product_id AS productId, read_at_ms AS certainAtMs FROM products
         WHERE gone_at_ms IS NULL AND read_at_ms > 0 ORDER BY read_at_ms`,
      )
      .iterate();
  }

  next(rateClass: number): Candidate | null {
    if (rateClass !== this.#quietClass) return this.#nextCounted(rateClass);
    const counted = this.#waiting.get('counted') ?? this.#nextCounted(rateClass);
    const quiet = this.#waiting.get('quiet') ?? this.#nextQuiet();
    this.#waiting.clear();
    if (counted === null || quiet === null) return counted ?? quiet;
    const isQuietFirst = quiet.certainAtMs < counted.certainAtMs;
    if (isQuietFirst) this.#waiting.set('counted', counted);
    else this.#waiting.set('quiet', quiet);
    return isQuietFirst ? quiet : counted;
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.return?.();
    this.#quiet.return?.();
  }

  #nextCounted(rateClass: number): (Candidate & { readonly certainAtMs: number }) | null {
    const stream = this.#streams.get(rateClass);
    for (let one = stream?.next(); one?.done === false; one = stream?.next()) {
      const candidate = candidateOf(this.#db, one.value);
      if (candidate === null || isRequested(this.#db, candidate.productId)) continue;
      return { ...candidate, certainAtMs: one.value.certainAtMs };
    }
    return null;
  }

  #nextQuiet(): (Candidate & { readonly certainAtMs: number }) | null {
    for (let passed = 0; passed < PASSED_OVER; passed++) {
      const one = this.#quiet.next();
      if (one.done === true) return null;
      const { productId, certainAtMs } = one.value;
      if (countedOf(this.#plan, productId) !== undefined || isRequested(this.#db, productId)) continue;
      const candidate = candidateOf(this.#db, { productId, changes: 0, changedAtMs: certainAtMs });
      if (candidate !== null) return { ...candidate, certainAtMs };
    }
    return null;
  }
}
