/** Runs, and what remains of them. */
import type { Run } from '../../core/runs.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';
import { runOf, type RunRow } from '../file/run-row.ts';
import { selectFrom } from '../file/statements.ts';
import { liveCounts } from './status.ts';

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

/** What is asked before a catalogue scan begins: those under way, and how many products there are. */
export function catalogueOutlook(db: Db): { readonly running: readonly Run[]; readonly products: number } {
  return db.transaction(() => ({
    running: runningRuns(db).filter((run) => run.productIds === null),
    products: liveCounts(db).products,
  }))();
}

/** The latest first. @param args.before ids below this one. */
export function latestRuns(db: Db, args: { readonly limit: number; readonly before?: number }): Run[] {
  return select<[number, number]>(db, 'WHERE id < ? ORDER BY id DESC LIMIT ?')
    .all(args.before ?? Number.MAX_SAFE_INTEGER, args.limit)
    .map(runOf);
}

/** Those of these products that the store no longer has, or never had, as far as their last read could tell. */
export function absentProducts(db: Db, args: { readonly productIds: readonly string[] }): string[] {
  const sql = `
    SELECT l.value FROM json_each(?) l LEFT JOIN products p ON p.product_id = l.value
    WHERE p.product_id IS NULL OR p.gone_at_ms IS NOT NULL OR p.missing_at_ms IS NOT NULL`;
  return prepared<[string], string>(db, sql).pluck().all(JSON.stringify(args.productIds));
}

export interface Remaining {
  /** Products of the run not read yet. */
  readonly unread: number;
  /** Products refused, or failed so often that no run waits for them any longer, and not about to be tried again. */
  readonly parked: number;
  /** Products the run covers. */
  readonly total: number;
}

/** A run must end: it does not wait for a product whose read is given up, once that was tried. */
const GIVEN_UP = `(f.next_at_ms > @nowMs AND f.product_id IN (SELECT product_id FROM given_up_reads))`;

const CATALOGUE = `
  SELECT
    (SELECT products FROM live_counts) AS total,
    (SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < @readAfterMs) AS unread,
    (
      SELECT count(*) FROM read_failures f CROSS JOIN products p ON p.product_id = f.product_id
      WHERE ${GIVEN_UP} AND p.gone_at_ms IS NULL AND p.read_at_ms < @readAfterMs
    ) AS parked`;

// A product the mirror never held counts as read once its re-read request is done.
const NAMED = `
  SELECT count(*) AS total,
    coalesce(sum(coalesce(p.read_at_ms < @readAfterMs, 1) AND o.product_id IS NOT NULL), 0) AS unread,
    coalesce(sum(coalesce(p.read_at_ms < @readAfterMs, 1) AND o.product_id IS NOT NULL AND ${GIVEN_UP}), 0) AS parked
  FROM json_each(@productIds) l
  LEFT JOIN products p ON p.product_id = l.value
  LEFT JOIN read_requests o ON o.product_id = l.value
  LEFT JOIN read_failures f ON f.product_id = l.value`;

export function remainingOf(
  db: Db,
  args: {
    readonly readAfterMs: number;
    readonly productIds: readonly string[] | null;
    readonly nowMs: number;
  },
): Remaining {
  const { readAfterMs, productIds, nowMs } = args;
  const row =
    productIds === null
      ? prepared<object, Remaining>(db, CATALOGUE).get({ readAfterMs, nowMs })
      : prepared<object, Remaining>(db, NAMED).get({
          readAfterMs,
          nowMs,
          productIds: JSON.stringify(productIds),
        });
  return row ?? { total: 0, unread: 0, parked: 0 };
}
