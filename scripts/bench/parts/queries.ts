/** (h) What each question of a page or the API takes of the reader's thread, which everyone else's wait for. */
import { DeliveryHistory } from '../../../src/ops/alarms/delivery-history.ts';
import { openReaderOfBoth } from '../../../src/event-log/open-both.ts';
import { type Db } from '../../../src/sqlite/open.ts';
import { openBoth } from '../../shared/direct-writer.ts';
import { queries, type QueryArgs, type QueryName } from '../../../src/mirror/reader/queries.ts';
import { DRIFT_CAUSES } from '../../../src/core/causes.ts';
import { present } from '../../../test/shared/present.ts';
import { Writer } from '../../shared/direct-writer.ts';
import type { Bench, Part } from '../bench.ts';
import { prepareDeliveries } from '../deliveries.ts';
import { median } from '../distribution.ts';
import { detailOf, FilledLevels } from '../fill.ts';
import { filledDatabase, FILLED_SECRET } from '../filled.ts';
import { seeded } from '../random.ts';
import { below, type Row } from '../row.ts';

const WANTED_MS = 50;
const TIMES = 5;
/** What takes this long is slow, however often it is asked. */
const ENOUGH_MS = 1_000;
/** The most that the API gives at once. */
const API_LIMIT = 1_000;
const DELIVERIES = 20_000;
const DELIVERIES_AT_ONCE = 500;
const CORRECTIONS = 100_000;
/** Products on one page of the store's list. */
const LISTED = 100;

interface Question {
  readonly query: QueryName;
  readonly name: string;
  readonly ask: (db: Db) => unknown;
}

interface Answered {
  readonly name: string;
  readonly tookMs: number;
}

function question<N extends QueryName>(
  name: N,
  ...[args, note]: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>, string?]
): Question {
  return {
    query: name,
    name: note === undefined ? name : `${name}, ${note}`,
    ask: (db) => (queries[name] as (db: Db, args?: unknown) => unknown)(db, args),
  };
}

/** As the pages and the API ask, at their largest. @param levels stock levels in the database. */
function questions(levels: number, nowMs: number, logSeq: number, changeSeq: number): Question[] {
  const middle = new FilledLevels(levels).name(Math.floor(levels / 2));
  const { variantId, sku } = middle;
  const search: QueryArgs<'findStock'> = {
    text: '',
    warehouseId: null,
    suspect: false,
    after: null,
    limit: 40,
  };
  const stock = (note: string, over: Partial<typeof search>) =>
    question('findStock', { ...search, ...over }, note);
  const all = { after: { variantId: '', warehouseId: '' }, limit: API_LIMIT };
  const halfway = { after: { variantId, warehouseId: '' }, limit: API_LIMIT };
  return [
    question('glance'),
    question('status'),
    question('stateSample'),
    question('pendingReads'),
    question('runningRuns'),
    question('runningCatalogueRun'),
    question('catalogueOutlook'),
    question('latestRuns', { limit: 51 }),
    question('runById', { id: 1 }),
    question('runOutcomes', { afterId: 0 }),
    question('runOutcomesStart'),
    question('notedMinutes', { sinceMs: nowMs - 7 * 24 * 60 * 60_000 }),
    question('deliveryCounts', DeliveryHistory.wanted(nowMs)),
    stock('first page', {}),
    stock('the beginning of a SKU', { text: 'SKU-1' }),
    stock('an id', { text: variantId }),
    stock('a part of a name', { text: 'variant 7' }),
    stock('nothing fits', { text: 'nothing has this' }),
    stock('a warehouse', { warehouseId: '702' }),
    stock('a warehouse without stock', { warehouseId: '9' }),
    stock('suspect', { suspect: true }),
    stock('suspect, nothing fits', { suspect: true, text: 'nothing has this' }),
    question('search', { text: variantId }, 'an id'),
    question('search', { text: 'nothing has this' }, 'nothing fits'),
    question('variantView', { variantId, beforeSeq: null, limit: 200 }, 'with its detail'),
    question('variantView', {
      variantId: new FilledLevels(levels).name(0).variantId,
      beforeSeq: null,
      limit: 200,
    }),
    question('deliveryPage', { beforeSeq: null, limit: 30 }),
    question('deliveryPage', { beforeSeq: Math.floor(logSeq / 2), limit: 30 }, 'among reads'),
    question('deliveryAt', { seq: logSeq }),
    question('deliveryAt', { seq: logSeq - DELIVERIES / 2 }, 'an older one'),
    question('deadLettersBefore', { beforeId: null, limit: 100 }),
    question('stockRows', all, 'first page'),
    question('stockRows', halfway, 'from the middle'),
    question('stockRows', { ...all, sku }, 'a SKU'),
    question('stockRows', { ...all, productId: variantId }, 'a product'),
    question('stockRows', { ...all, warehouseId: '9' }, 'a warehouse without stock'),
    question('stockRows', { ...halfway, suspect: 1 }, 'suspect'),
    question('variantRows', { after: '', limit: API_LIMIT }, 'first page'),
    question('variantRows', { after: variantId, limit: API_LIMIT }, 'from the middle'),
    question('variantRows', { after: '', limit: API_LIMIT, sku }, 'a SKU'),
    question('variantRows', { after: '', limit: API_LIMIT, suspect: 1 }, 'suspect'),
    question('changesAfter', { after: null, limit: API_LIMIT }, 'first page'),
    question('changesAfter', { after: Math.floor(changeSeq / 2), limit: API_LIMIT }, 'from the middle'),
    question('changesAfter', { after: changeSeq, limit: API_LIMIT }, 'nothing new'),
    question('driftBefore', { before: changeSeq + 1, reasons: DRIFT_CAUSES, limit: API_LIMIT }),
    question('deliveriesBefore', deliveriesArgs(logSeq, {})),
    question('deliveriesBefore', deliveriesArgs(logSeq, { deadLettersOnly: true }), 'quarantined'),
    question('deliveriesBefore', deliveriesArgs(logSeq, { minDelayMs: 3_600_000 }), 'late ones'),
    question('deliveriesBefore', deliveriesArgs(Math.floor(logSeq / 2), {}), 'among reads'),
  ];
}

function deliveriesArgs(
  logSeq: number,
  over: Partial<QueryArgs<'deliveriesBefore'>>,
): QueryArgs<'deliveriesBefore'> {
  const before = { logSeq: logSeq + 1, deadLetterId: Number.MAX_SAFE_INTEGER };
  return { before, limit: API_LIMIT, deadLettersOnly: false, minDelayMs: null, ...over };
}

/** What the mirror itself asks on the same thread, several times a second. */
function ownQuestions(nowMs: number): Question[] {
  const levels = new FilledLevels(LISTED * 9);
  const productIds = Array.from({ length: LISTED }, (_, i) => levels.name(i * 3).variantId);
  return [
    question('notMirrored', { productIds }),
    question('unreadSince', { productIds, sinceMs: nowMs }),
    question('stillUnmapped', { variantIds: productIds }),
    question('failureOf', { productId: '1' }),
    question('nextReads', { nowMs, limit: 32, exclude: [], oldestBeforeMs: nowMs, oldestLimit: 7 }),
    question('dueChores', { nowMs }),
    question(
      'remainingOf',
      { readAfterMs: nowMs, productIds: null, nowMs, after: null, countTo: 20_000 },
      'a portion',
    ),
    question('noteActivity', { nowMs, gaps: [] }, 'a portion'),
    question('planReads', { nowMs, elapsedMs: 900_000, readsPerHour: 600, longestMs: 604_800_000 }),
    question('liveCounts'),
    question('lastFullSync'),
    question('lag'),
    question('absentProducts', { productIds }),
    question('missedOnce', { variantIds: productIds }),
    question('isPrunable', { firstSeq: 1, beforeMs: nowMs }),
  ];
}

async function run(bench: Bench): Promise<Row[]> {
  const { quick, say } = bench;
  const levels = quick ? 1_000_000 : 10_000_000;
  const path = await filledDatabase(bench, levels);
  const db = openBoth(path);
  try {
    db.pragma('wal_autocheckpoint = 4000');
    db.exec(`UPDATE runs SET state = 'failed' WHERE state = 'running'`);
    addHistory(db);
    deliver(db, levels);
    const rows: Row[] = [];
    for (const [state, begin] of STATES) {
      db.exec(begin.replaceAll('@nowMs', String(Date.now())));
      db.pragma('wal_checkpoint(TRUNCATE)');
      say(state);
      rows.push(...measured(path, levels, state, bench));
    }
    return await Promise.resolve(rows);
  } finally {
    db.close();
  }
}

/** What the mirror may be doing, and how it comes to that. */
const STATES: readonly (readonly [string, string])[] = [
  ['at rest', ''],
  ['one percent suspect', requests(100)],
  [
    'while the catalogue is read',
    `INSERT INTO runs (kind, state, started_at_ms, read_after_ms, list_offset, list_done, started_seq, total, done,
       drift, failed) VALUES ('scheduled', 'running', @nowMs, @nowMs, 0, 0, 1, 1, 0, 0, 0)`,
  ],
  ['after downtime, all suspect', `UPDATE mirror_state SET trusted_after_ms = @nowMs`],
];

/** The end of the log, as pages show it: some of these deliveries break a chain, and some are not understood. */
function deliver(db: Db, levels: number): void {
  const writer = new Writer(db);
  const nowMs = Date.now();
  const recipe = {
    count: DELIVERIES,
    secret: FILLED_SECRET,
    label: `queries-${nowMs}`,
    startMs: nowMs,
    everyMs: 0,
    apart: 0,
  };
  const bodies = prepareDeliveries(new FilledLevels(levels), recipe, seeded(1)).map(({ body }) => body);
  for (let i = 0; i < bodies.length; i += 200)
    bodies[i] = Buffer.from(`{"request_id":"${recipe.label}-bad-${i}"}`);
  for (let i = 0; i < bodies.length; i += DELIVERIES_AT_ONCE) {
    const batch = bodies.slice(i, i + DELIVERIES_AT_ONCE);
    const results = writer.commit(batch.map((body) => ({ kind: 'delivery', body, arrivedAtMs: nowMs })));
    for (const result of results) if (!result.ok) throw result.error;
  }
}

/** One product in this many has a re-read request, and as many variants wait for a late delivery. */
function requests(every: number): string {
  return `
    INSERT OR IGNORE INTO read_requests (product_id, reason, priority, doubt, made_seq, made_at_ms, first_made_at_ms,
      not_before_ms)
    SELECT product_id, 'conflict', 3, 1, 1, read_at_ms, read_at_ms + rowid, read_at_ms FROM products
    WHERE rowid % ${every} = 0;
    INSERT OR IGNORE INTO gaps (variant_id, warehouse_id, opened_seq, opened_at_ms, due_at_ms, from_qty, to_qty)
    SELECT variant_id, '701', 1, as_of_ms, as_of_ms, 1, 2 FROM variants
    WHERE CAST(variant_id AS INTEGER) % ${every * 3} = 1`;
}

/** A product with its detail, a few re-read requests, and many corrections in the feed. */
function addHistory(db: Db): void {
  const detail = detailOf(0, Date.now());
  db.transaction(() => {
    db.prepare('INSERT OR REPLACE INTO product_details (product_id, detail_json) VALUES (?, ?)').run(
      detail.id,
      JSON.stringify(detail),
    );
    db.exec(requests(10_000));
    // Each of a read of its own.
    db.exec(`INSERT INTO changes (seq, log_seq, variant_id, warehouse_id, sku, old_qty, new_qty, source, reason,
        recorded_at_ms)
      SELECT m.change_seq + v.n, (SELECT max(seq) FROM log) + v.n, v.variant_id, '701', v.sku, 1, 2, 'read',
        CASE v.n % 2 WHEN 0 THEN 'gap' ELSE 'lost_tail' END, v.as_of_ms
      FROM (SELECT variant_id, sku, as_of_ms, row_number() OVER () AS n FROM variants LIMIT ${CORRECTIONS}) v,
        mirror_state m`);
    db.exec(`INSERT INTO log (seq, kind, at_ms, payload)
      SELECT log_seq, 'read', recorded_at_ms, CAST('{}' AS BLOB) FROM changes
      WHERE source = 'read' AND reason IN ('gap', 'lost_tail') AND log_seq > (SELECT max(seq) FROM log)`);
    db.exec('UPDATE mirror_state SET change_seq = (SELECT max(seq) FROM changes)');
  })();
}

/** Questions that nobody has thought of measuring: none, which a test holds. */
export function unmeasured(): QueryName[] {
  const asked = [...questions(1_000, 0, 1, 1), ...ownQuestions(0)].map(({ query }) => query);
  return (Object.keys(queries) as QueryName[]).filter((name) => !asked.includes(name));
}

function measured(path: string, levels: number, state: string, { append }: Bench): Row[] {
  const db = openReaderOfBoth(path);
  try {
    const figure = (sql: string): number => db.prepare<[], number>(sql).pluck().get() ?? 0;
    const nowMs = Date.now();
    const logSeq = figure('SELECT max(seq) FROM log');
    const changeSeq = figure('SELECT change_seq FROM mirror_state');
    const ofOthers = questions(levels, nowMs, logSeq, changeSeq);
    const ofService = ownQuestions(nowMs);
    const asked = timed(db, ofOthers);
    const own = timed(db, ofService);
    const slow = [...asked, ...own].filter(({ tookMs }) => tookMs > WANTED_MS / 5);
    append([
      `Questions over ${WANTED_MS / 5} ms, ${state}:`,
      ...slow.map(({ name, tookMs }) => `${tookMs.toFixed(1).padStart(9)} ms  ${name}`),
    ]);
    return [row('pages and API', state, levels, asked), row('the mirror itself', state, levels, own)];
  } finally {
    db.close();
  }
}

/** The slowest first. Warm: each was asked before. */
function timed(db: Db, asked: readonly Question[]): Answered[] {
  return asked
    .map(({ name, ask }) => {
      const times: number[] = [];
      const once = (): number => {
        const beganMs = performance.now();
        ask(db);
        return performance.now() - beganMs;
      };
      let spentMs = once();
      do {
        const tookMs = once();
        times.push(tookMs);
        spentMs += tookMs;
      } while (times.length < TIMES && spentMs < ENOUGH_MS);
      return { name, tookMs: median(times) };
    })
    .toSorted((a, b) => b.tookMs - a.tookMs);
}

function row(who: string, state: string, levels: number, answered: readonly Answered[]): Row {
  const { name, tookMs } = present(answered[0]);
  return {
    part: 'h',
    what: `slowest question of ${who}, ${levels / 1_000_000} M levels, ${state}`,
    ours: `${tookMs.toFixed(1)} ms (${name})`,
    against: null,
    ratio: null,
    target: below(tookMs, WANTED_MS, 'ms'),
    figures: Object.fromEntries(answered.map((each) => [each.name, each.tookMs])),
  };
}

export const slowQueries: Part = { id: 'h', title: 'what pages and the API ask', run, onRequest: true };
