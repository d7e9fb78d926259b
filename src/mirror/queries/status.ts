import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { countDifferences, type Differences } from '../../core/runs.ts';
import { and, asc, desc, eq, gt, isNotNull, isNull, max, min, ne, sql } from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { countOf, query, scalar, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { explainInbox, inboxPath } from '../../inbox/inbox-file.ts';
import { inbox } from '../../inbox/inbox-table.ts';
import { differencesOf } from '../file/run-row.ts';
import { deadLetters, dueReads, liveCounts as counts, mirrorState, runs, variants } from '../file/schema.ts';
import { mirrorStatus } from '../file/view-columns.ts';
import { sellable, suspects, type Sellable } from './suspects.ts';

const LIVE_COUNTS = query(() =>
  select({ products: counts.products, variants: counts.variants, levels: counts.levels }).from(counts),
);

export function liveCounts(db: Db): RowOf<typeof LIVE_COUNTS> {
  return LIVE_COUNTS.one(db);
}

const HAS_FAILED = isNotNull(dueReads.failedAtMs);

const LAST_READ_ERROR = scalar(
  select({ lastError: sql<string>`'product ' || ${dueReads.productId} || ': ' || ${dueReads.lastError}` })
    .from(dueReads)
    .where(HAS_FAILED)
    .orderBy(desc(dueReads.failedAtMs))
    .limit(1),
);

/** Ids are consecutive (src/mirror/writer/prune.ts). */
const DEAD_LETTERS = sql<number>`coalesce(
  ${scalar(select({ id: max(deadLetters.id) }).from(deadLetters))}
  - ${scalar(select({ id: min(deadLetters.id) }).from(deadLetters))} + 1,
  0
)`;

const STATUS = query(() =>
  select({
    epoch: mirrorStatus.epoch,
    schema_version: mirrorStatus.schema_version,
    state: mirrorStatus.state,
    state_cause: mirrorStatus.state_cause,
    causes: mirrorStatus.causes,
    last_delivery_at: mirrorStatus.last_delivery_at,
    /** When a webhook of the store was last accepted. */
    last_accepted_at: mirrorState.lastWebhookAtMs,
    last_full_sync_at: mirrorStatus.last_full_sync_at,
    oldest_verified_at: mirrorStatus.oldest_verified_at,
    pending_reads: mirrorStatus.pending_reads,
    open_gaps: mirrorStatus.open_gaps,
    last_seq: mirrorStatus.last_seq,
    alive_at: mirrorStatus.alive_at,
    products: counts.products,
    variants: counts.variants,
    levels: counts.levels,
    parked_reads: countOf(dueReads, and(eq(dueReads.givenUp, 1), HAS_FAILED)),
    failing_reads: countOf(dueReads, HAS_FAILED),
    last_read_error: LAST_READ_ERROR,
    /** Products held by the mass-removal guard, whole or in part. */
    held_removals: countOf(dueReads, eq(dueReads.held, 1)),
    /** Products of which reads no longer show something, until a further read or a list confirms it. */
    pending_removals: countOf(dueReads, and(eq(dueReads.reason, 'confirm_removal'), eq(dueReads.held, 0))),
    /** Variants that webhooks have named and no product shows. */
    searched_variants: countOf(variants, isNotNull(variants.lookupAtMs)),
    dead_letters: DEAD_LETTERS,
  })
    .from(mirrorStatus)
    .crossJoin(mirrorState)
    .crossJoin(counts),
);

/** The last run that read every product: what it compared, and what differed. */
const LAST_FULL_READ = query(() =>
  select({
    run_id: runs.id,
    finished_at: sql<number>`${runs.finishedAtMs}`,
    took_ms: sql<number>`${runs.finishedAtMs} - ${runs.startedAtMs}`,
    products: runs.done,
    compared: runs.compared,
    differencesJson: runs.differencesJson,
    failed: runs.failed,
  })
    .from(runs)
    .where(and(eq(runs.state, 'done'), isNull(runs.productIdsJson), ne(runs.kind, 'search')))
    .orderBy(desc(runs.id))
    .limit(1),
);

export interface FullRead extends Readonly<Omit<RowOf<typeof LAST_FULL_READ>, 'differencesJson'>> {
  readonly differences: number;
  readonly by_reason: Differences;
}

function lastFullRead(db: Db): FullRead | null {
  const row = LAST_FULL_READ.get(db);
  if (row === undefined) return null;
  const { differencesJson, ...read } = row;
  const byReason = differencesOf(differencesJson);
  return { ...read, differences: countDifferences(byReason), by_reason: byReason };
}

export interface Status extends Readonly<RowOf<typeof STATUS>> {
  /** null: none yet, or pruned. */
  readonly last_full_read: FullRead | null;
  readonly sellable: Sellable;
  /** Rows of `mirror_sellable` with a ground of their own, whatever the state; null: more than `MOST_COUNTED`. */
  readonly suspect_count: number | null;
}

/** From indexes and maintained counts: the cost grows with the read requests, not with the mirror. */
export function status(db: Db): Status {
  return db.transaction(() => {
    const suspect = suspects(db);
    return {
      ...STATUS.one(db),
      last_full_read: lastFullRead(db),
      sellable: sellable(db, suspect),
      suspect_count: suspect?.rows ?? null,
    };
  })();
}

const LAST_SEQ = scalar(select({ seq: max(inbox.seq) }).from(inbox));

const LAG = query(() =>
  select({
    deliveries: sql<number>`max(0, coalesce(${LAST_SEQ}, 0) - ${mirrorState.inboxSeq})`,
    /** Arrival of the first; null if there is none. */
    sinceMs: scalar(
      select({ arrivedAtMs: inbox.arrivedAtMs })
        .from(inbox)
        .where(gt(inbox.seq, mirrorState.inboxSeq))
        .orderBy(asc(inbox.seq))
        .limit(1),
    ),
  }).from(mirrorState),
);

export type Lag = Readonly<RowOf<typeof LAG>>;

export function lag(db: Db): Lag {
  return explainInbox(inboxPath(db.name), () => LAG.one(db));
}

/** Sample for causes, metrics, plots and pages. */
export interface StateSample {
  readonly status: Status;
  readonly lag: Lag;
  readonly databaseBytes: number;
  readonly walBytes: number;
  readonly diskFreeBytes: number;
  readonly tookMs: number;
}

export function stateSample(db: Db): StateSample {
  const beganMs = performance.now();
  const sample = db.transaction(() => ({
    status: status(db),
    lag: lag(db),
    databaseBytes: pragma(db, 'page_count') * pragma(db, 'page_size'),
  }))();
  const { bavail, bsize } = statfsSync(dirname(db.name));
  return {
    ...sample,
    walBytes: statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    diskFreeBytes: bavail * bsize,
    tookMs: performance.now() - beganMs,
  };
}

function pragma(db: Db, name: 'page_count' | 'page_size'): number {
  return db.pragma(name, { simple: true }) as number;
}

const FAILURE = query((params: Params<{ productId: string }>) =>
  select({
    attempts: dueReads.attempts,
    faults: dueReads.faults,
    failedAtMs: dueReads.failedAtMs,
  })
    .from(dueReads)
    .where(eq(dueReads.productId, params.productId)),
);

const NO_FAILURE: RowOf<typeof FAILURE> = { attempts: 0, faults: 0, failedAtMs: null };

export function failureOf(db: Db, args: { readonly productId: string }): RowOf<typeof FAILURE> {
  return FAILURE.get(db, args) ?? NO_FAILURE;
}
