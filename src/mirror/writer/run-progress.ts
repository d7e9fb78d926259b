import type { Db } from '../../sqlite/open.ts';
import { onlyRow, prepared } from '../../sqlite/prepared.ts';
import { runOf, type RunRow } from '../file/run-row.ts';
import { selectFrom } from '../file/statements.ts';

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

interface ProgressArgs {
  readonly id: number;
  /** Identifies the run together with its id, which another run may have in a new file. */
  readonly startedAtMs: number;
  readonly nowMs: number;
}

/** @returns a function that counts what a run has read, stores it, and returns what is left; null if the run has ended. */
export function prepareProgress(db: Db): (args: ProgressArgs) => Remaining | null {
  const find = db.prepare<[number], RunRow>(`${selectFrom(db, 'runs')} WHERE id = ?`);
  const store = db.prepare('UPDATE runs SET total = @total, done = @done, failed = @failed WHERE id = @id');
  return ({ id, startedAtMs, nowMs }) => {
    const row = find.get(id);
    if (row === undefined || row.startedAtMs !== startedAtMs || row.state !== 'running') return null;
    const run = runOf(row);
    const { readAfterMs, productIds } = run;
    const remaining = remainingOf(db, { readAfterMs, productIds, nowMs });
    const total = run.listDone ? remaining.total : Math.max(remaining.total, run.total);
    const done = Math.max(0, remaining.total - remaining.unread);
    const failed = remaining.parked;
    if (total !== run.total || done !== run.done || failed !== run.failed) {
      store.run({ id, total, done, failed });
    }
    return remaining;
  };
}

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
  return onlyRow(prepared<[object], Remaining>(db, productIds === null ? CATALOGUE : NAMED), bound);
}
