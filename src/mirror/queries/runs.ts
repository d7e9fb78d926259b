import type { SQL } from 'drizzle-orm';
import type { Run } from '../../core/runs.ts';
import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNull,
  lt,
  ne,
  not,
  or,
  sql,
} from '../../sqlite/drizzle.ts';
import type { Db } from '../../sqlite/open.ts';
import { existsIn, query, select, type Params, type RowOf } from '../../sqlite/query.ts';
import { runOf } from '../file/run-row.ts';
import { mirrorState, runs, serviceState } from '../file/schema.ts';
import { liveCounts } from './status.ts';

const RUNNING = query(() =>
  select(getTableColumns(runs)).from(runs).where(eq(runs.state, 'running')).orderBy(asc(runs.id)),
);

const BY_ID = query((params: Params<{ id: number }>) =>
  select(getTableColumns(runs)).from(runs).where(eq(runs.id, params.id)),
);

const BEFORE = query((params: Params<{ before: number; limit: number }>) =>
  select(getTableColumns(runs))
    .from(runs)
    .where(lt(runs.id, params.before))
    .orderBy(desc(runs.id))
    .limit(params.limit),
);

export function runningRuns(db: Db): Run[] {
  return RUNNING.all(db).map(runOf);
}

export function runById(db: Db, args: { readonly id: number }): Run | null {
  const row = BY_ID.get(db, args);
  return row === undefined ? null : runOf(row);
}

export function latestRuns(db: Db, args: { readonly limit: number; readonly before?: number }): Run[] {
  return BEFORE.all(db, { before: Number.MAX_SAFE_INTEGER, ...args }).map(runOf);
}

export function catalogueOutlook(db: Db): { readonly running: readonly Run[]; readonly products: number } {
  return db.transaction(() => ({
    running: runningRuns(db).filter((run) => run.productIds === null),
    products: liveCounts(db).products,
  }))();
}

/** A failed run is not repeated before this, so that products that the store refuses do not cause endless reads. */
const AFTER_FAILED_RUN_MS = 15 * 60_000;

const IS_FIRST: SQL = sql`${isNull(serviceState.lastFullSyncAtMs)} and not ${existsIn(
  runs,
  and(eq(runs.state, 'running'), eq(runs.kind, 'initial')),
)}`;

const RUN_AFTER_BARRIER = query((params: Params<{ nowMs: number }>) =>
  select({
    /** Deliveries may have been missed until then. */
    trustedAfterMs: mirrorState.trustedAfterMs,
    kind: sql<'initial' | 'downtime'>`iif(${IS_FIRST}, 'initial', 'downtime')`,
  })
    .from(mirrorState)
    .crossJoin(serviceState)
    .where(
      not(
        existsIn(
          runs,
          and(
            isNull(runs.productIdsJson),
            ne(runs.kind, 'search'),
            gte(runs.readAfterMs, mirrorState.trustedAfterMs),
            or(
              inArray(runs.state, ['running', 'done']),
              gt(runs.finishedAtMs, sql`${params.nowMs} - ${AFTER_FAILED_RUN_MS}`),
            ),
          ),
        ),
      ),
    ),
);

type RunAfterBarrier = Readonly<RowOf<typeof RUN_AFTER_BARRIER>>;

/** @returns the run that must begin because no catalogue run, running or done, reads everything after the barrier. */
export function runAfterBarrier(db: Db, args: { readonly nowMs: number }): RunAfterBarrier | null {
  return RUN_AFTER_BARRIER.get(db, args) ?? null;
}
