import type { Db } from '../../sqlite/open.ts';
import { onlyRow, prepareRows, type Columns } from '../../sqlite/prepared.ts';
import { runOf, type RunRow } from '../file/run-row.ts';
import { columnsOf } from '../file/statements.ts';

interface Remaining {
  readonly unread: number;
  /** Products whose reads are given up and not about to be retried. */
  readonly givenUp: number;
  readonly total: number;
}

/** A run does not wait for a product whose read is given up, once it has tried it. */
const GIVEN_UP = '(due_reads.given_up = 1 AND (due_reads.parked = 1 OR due_reads.retry_at_ms > @nowMs))';

const UNREAD_LIVE = 'products.gone_at_ms IS NULL AND products.read_at_ms < @readAfterMs';

const CATALOGUE: Columns<Remaining> = {
  total: '(SELECT products FROM live_counts)',
  unread: `(SELECT count(*) FROM products WHERE ${UNREAD_LIVE})`,
  givenUp: `(
    SELECT count(*) FROM due_reads CROSS JOIN products ON products.product_id = due_reads.product_id
    WHERE due_reads.failed_at_ms IS NOT NULL AND ${GIVEN_UP} AND ${UNREAD_LIVE}
  )`,
};

/** A product unknown to the mirror counts as read once its request is done. */
const UNREAD_NAMED = 'coalesce(products.read_at_ms < @readAfterMs, 1) AND due_reads.product_id IS NOT NULL';

const NAMED: Columns<Remaining> = {
  total: 'count(*)',
  unread: `coalesce(sum(${UNREAD_NAMED}), 0)`,
  givenUp: `coalesce(sum(${UNREAD_NAMED} AND ${GIVEN_UP}), 0)`,
};

interface ProgressArgs {
  readonly id: number;
  /** Identifies the run together with its id, which another run may have in a new file. */
  readonly startedAtMs: number;
  readonly nowMs: number;
}

/**
 * @returns a function that counts what a run has read, stores it, and returns what is left; null if the run
 * has ended.
 */
export function prepareProgress(db: Db): (args: ProgressArgs) => Remaining | null {
  const find = prepareRows<[number], RunRow>(
    db,
    columnsOf(db, 'runs'),
    (columns) => `SELECT ${columns} FROM runs WHERE id = ?`,
  );
  const remainingOf = prepareRemaining(db);
  const store = db.prepare('UPDATE runs SET total = @total, done = @done, failed = @failed WHERE id = @id');
  return ({ id, startedAtMs, nowMs }) => {
    const row = find.get(id);
    if (row === undefined || row.startedAtMs !== startedAtMs || row.state !== 'running') return null;
    const run = runOf(row);
    const { readAfterMs, productIds } = run;
    const remaining = remainingOf({ readAfterMs, productIds, nowMs });
    const total = run.listDone ? remaining.total : Math.max(remaining.total, run.total);
    const done = Math.max(0, remaining.total - remaining.unread);
    const failed = remaining.givenUp;
    if (total !== run.total || done !== run.done || failed !== run.failed) {
      store.run({ id, total, done, failed });
    }
    return remaining;
  };
}

interface RemainingArgs {
  readonly readAfterMs: number;
  /** The products that the run reads; null if it reads all. */
  readonly productIds: readonly string[] | null;
  readonly nowMs: number;
}

export function prepareRemaining(db: Db): (args: RemainingArgs) => Remaining {
  const catalogue = prepareRows<[object], Remaining>(db, CATALOGUE, (columns) => `SELECT ${columns}`);
  const named = prepareRows<[object], Remaining>(
    db,
    NAMED,
    (columns) =>
      `
      SELECT ${columns}
      FROM json_each(@productIds) AS listed
      LEFT JOIN products ON products.product_id = listed.value
      LEFT JOIN due_reads ON due_reads.product_id = listed.value`,
  );
  return ({ readAfterMs, productIds, nowMs }) =>
    productIds === null
      ? onlyRow(catalogue, { readAfterMs, nowMs })
      : onlyRow(named, { readAfterMs, nowMs, productIds: JSON.stringify(productIds) });
}
