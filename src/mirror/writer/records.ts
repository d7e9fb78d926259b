/** What inputs write besides the tables of the rules: runs, and reads that are given up. */
import type { Input, GivenUpInput, RunBegunInput, RunEndedInput } from '../../core/input.ts';
import type { Fact } from '../../core/apply/fact.ts';
import type { Db } from '../../sqlite/open.ts';
import { runOf, type RunRow } from '../file/run-row.ts';
import { selectList } from '../file/statements.ts';

/**
 * Prepares the statements once; each call runs inside the apply thread's transaction.
 *
 * @returns what takes an input with the facts that the rules have reported of it, and returns those of its own.
 */
export function prepareRecords(db: Db): (input: Input, ruled: readonly Fact[]) => readonly Fact[] {
  const clearFailure = db.prepare('DELETE FROM read_failures WHERE product_id = ?');
  const takeUp = db.prepare('DELETE FROM given_up_reads WHERE product_id = ?');
  const noteGivenUp = db.prepare('INSERT OR IGNORE INTO given_up_reads (product_id) VALUES (?)');
  const failRead = db.prepare(FAIL_READ);
  const retryFailures = db.prepare(RETRY_FAILURES);
  const beginRun = db.prepare<[object], RunRow>(
    `INSERT INTO runs (kind, state, started_at_ms, read_after_ms, product_ids_json, list_offset, list_done,
       started_seq, total, done, drift, failed)
     VALUES (@run, 'running', @atMs, @readAfterMs, @productIds, 0, @listDone, @seq, @total, 0, 0, 0)
     RETURNING ${selectList(db, 'runs')}`,
  );
  // The place in the list is of no use to a run that has ended, and no input tells it.
  const endRun = db.prepare(
    `UPDATE runs SET state = iif(@error IS NULL, 'done', 'failed'), finished_at_ms = @atMs, error = @error,
       list_offset = 0, list_last_id = NULL, list_done = 1, total = @total, done = @done, failed = @failed, drift = @drift
     WHERE started_seq = @startedSeq AND state = 'running'`,
  );
  // With the rows that it corrects: a run that sees nothing unread has every difference counted.
  const countDrift = db.prepare("UPDATE runs SET drift = drift + ? WHERE state = 'running'");
  const synced = db.prepare('UPDATE service_state SET last_full_sync_at_ms = ?');

  /** The run retries what failed before, or it would end without that product. */
  const begin = ({ productIds, ...run }: RunBegunInput): readonly Fact[] => {
    retryFailures.run();
    const row = beginRun.get({
      ...run,
      productIds: productIds === null ? null : JSON.stringify(productIds),
      listDone: productIds === null ? 0 : 1,
    });
    return row === undefined ? [] : [{ kind: 'run_begun', run: runOf(row) }];
  };
  const end = ({ fullSync, ...run }: RunEndedInput): void => {
    endRun.run(run);
    if (fullSync) synced.run(run.atMs);
  };
  const giveUp = (input: GivenUpInput): void => {
    noteGivenUp.run(input.productId);
    failRead.run({ ...input, parked: input.parked ? 1 : 0 });
  };
  return (input, ruled) => {
    if (input.kind === 'read') {
      clearFailure.run(input.productId);
      takeUp.run(input.productId);
      const drift = ruled.filter(({ kind }) => kind === 'drift').length;
      if (drift > 0) countDrift.run(drift);
    } else if (input.kind === 'run_begun') return begin(input);
    else if (input.kind === 'run_ended') end(input);
    else if (input.kind === 'given_up') giveUp(input);
    return [];
  };
}

/** Everything parked or waiting is tried again, once, without delay. */
export const RETRY_FAILURES = 'UPDATE read_failures SET next_at_ms = 0, attempts = 0';

export const FAIL_READ = `
  INSERT INTO read_failures (product_id, attempts, faults, next_at_ms, parked, error, failed_at_ms)
  VALUES (@productId, @attempts, @faults, @nextAtMs, @parked, @error, @atMs)
  ON CONFLICT (product_id) DO UPDATE SET attempts = excluded.attempts, faults = excluded.faults,
    next_at_ms = excluded.next_at_ms, parked = excluded.parked, error = excluded.error,
    failed_at_ms = excluded.failed_at_ms`;
