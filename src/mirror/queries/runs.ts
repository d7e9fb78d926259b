import type { Run, RunKind, RunState } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import { idsAmong, prepared } from '../../sqlite/prepared.ts';
import type { runs } from '../file/schema.ts';
import { selectFrom } from '../file/statements.ts';
import { liveCounts } from './status.ts';

export type RunRow = typeof runs.$inferSelect;

export function runOf(row: RunRow): Run {
  const { productIdsJson, listDone, kind, state, ...rest } = row;
  return {
    ...rest,
    kind: kind as RunKind,
    state: state as RunState,
    listDone: listDone === 1,
    productIds: productIdsJson === null ? null : (JSON.parse(productIdsJson) as string[]),
  };
}

function select<P extends unknown[]>(db: Db, where: string) {
  return prepared<P, RunRow>(db, `${selectFrom(db, 'runs')} ${where}`);
}

export function runningRuns(db: Db): Run[] {
  return select<[]>(db, `WHERE state = 'running' ORDER BY id`).all().map(runOf);
}

export function runById(db: Db, args: { readonly id: number }): Run | null {
  const row = select<[number]>(db, 'WHERE id = ?').get(args.id);
  return row === undefined ? null : runOf(row);
}

export function catalogueOutlook(db: Db): { readonly running: readonly Run[]; readonly products: number } {
  return db.transaction(() => ({
    running: runningRuns(db).filter((run) => run.productIds === null),
    products: liveCounts(db).products,
  }))();
}

/** A failed run is not repeated before this, so that products that the store refuses do not cause endless reads. */
const AFTER_FAILED_RUN_MS = 15 * 60_000;

interface RunAfterBarrier {
  readonly kind: 'initial' | 'downtime';
  /** Deliveries may have been missed until then. */
  readonly trustedAfterMs: number;
}

const RUN_AFTER_BARRIER = `
  SELECT
    mirror_state.trusted_after_ms AS trustedAfterMs,
    iif(
      service_state.last_full_sync_at_ms IS NULL
        AND NOT EXISTS (SELECT 1 FROM runs WHERE state = 'running' AND kind = 'initial'),
      'initial',
      'downtime'
    ) AS kind
  FROM mirror_state, service_state
  WHERE NOT EXISTS (
    SELECT 1 FROM runs
    WHERE product_ids_json IS NULL AND kind <> 'search' AND read_after_ms >= mirror_state.trusted_after_ms
      AND (state IN ('running', 'done') OR finished_at_ms > @nowMs - ${AFTER_FAILED_RUN_MS})
  )`;

/** @returns the run that must begin because no catalogue run, running or done, reads everything after the barrier. */
export function runAfterBarrier(db: Db, args: { readonly nowMs: number }): RunAfterBarrier | null {
  return prepared<object, RunAfterBarrier>(db, RUN_AFTER_BARRIER).get(args) ?? null;
}

export function latestRuns(db: Db, args: { readonly limit: number; readonly before?: number }): Run[] {
  return select<[number, number]>(db, 'WHERE id < ? ORDER BY id DESC LIMIT ?')
    .all(args.before ?? Number.MAX_SAFE_INTEGER, args.limit)
    .map(runOf);
}

export function absentProducts(db: Db, args: { readonly productIds: readonly string[] }): string[] {
  return idsAmong(
    db,
    args.productIds,
    `LEFT JOIN products p ON p.product_id = l.value
     WHERE p.product_id IS NULL OR p.gone_at_ms IS NOT NULL OR p.missing_at_ms IS NOT NULL`,
  );
}

export interface Remaining {
  readonly unread: number;
  /** Products whose reads are given up and not about to be retried. */
  readonly parked: number;
  readonly total: number;
}

/** A run does not wait for a product whose read is given up, once it has tried it. */
const GIVEN_UP = '(d.given_up = 1 AND (d.parked = 1 OR d.retry_at_ms > @nowMs))';

const CATALOGUE = `
  SELECT
    (SELECT products FROM live_counts) AS total,
    (SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < @readAfterMs) AS unread,
    (
      SELECT count(*) FROM due_reads d CROSS JOIN products p ON p.product_id = d.product_id
      WHERE d.failed_at_ms IS NOT NULL AND ${GIVEN_UP} AND p.gone_at_ms IS NULL AND p.read_at_ms < @readAfterMs
    ) AS parked`;

// A product unknown to the mirror counts as read once its request is done.
const NAMED = `
  SELECT count(*) AS total,
    coalesce(sum(coalesce(p.read_at_ms < @readAfterMs, 1) AND d.product_id IS NOT NULL), 0) AS unread,
    coalesce(sum(coalesce(p.read_at_ms < @readAfterMs, 1) AND d.product_id IS NOT NULL AND ${GIVEN_UP}), 0) AS parked
  FROM json_each(@productIds) l
  LEFT JOIN products p ON p.product_id = l.value
  LEFT JOIN due_reads d ON d.product_id = l.value`;

export function remainingOf(
  db: Db,
  args: {
    readonly readAfterMs: number;
    readonly productIds: readonly string[] | null;
    readonly nowMs: number;
  },
): Remaining {
  const { readAfterMs, productIds, nowMs } = args;
  const bound = { readAfterMs, nowMs, ...(productIds && { productIds: JSON.stringify(productIds) }) };
  const row = prepared<object, Remaining>(db, productIds === null ? CATALOGUE : NAMED).get(bound);
  return row ?? { total: 0, unread: 0, parked: 0 };
}
