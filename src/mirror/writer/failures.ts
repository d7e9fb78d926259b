/** Failed reads: columns of `due_reads`, and rows without a request, that the merge rules do not know. */
import { EARLIEST_MS } from '../../core/limits.ts';
import { READ_FAILED } from '../../core/reasons.ts';
import type { ReadFailure } from '../../core/input.ts';
import type { Db } from '../../sqlite/open.ts';

/** Retries everything that waits, once and without delay. */
export const RETRY_FAILURES = `
  UPDATE due_reads SET
    attempts = 0,
    retry_at_ms = 0,
    parked = 0
  WHERE failed_at_ms IS NOT NULL`;

/** A read that nothing has asked for is due again as well; any later answer ends the row. */
const FAIL = `
  INSERT INTO due_reads (
    product_id, reason, priority, is_suspect, made_at_ms, first_made_at_ms, not_before_ms,
    attempts, faults, retry_at_ms, parked, given_up, failed_at_ms, last_error
  )
  VALUES (
    @productId, '${READ_FAILED}', @priority, 0, ${EARLIEST_MS}, @atMs, 0,
    @attempts, @faults, @retryAtMs, @parked, @givenUp, @atMs, @error
  )
  ON CONFLICT (product_id) DO UPDATE SET
    attempts = excluded.attempts,
    faults = excluded.faults,
    retry_at_ms = excluded.retry_at_ms,
    parked = excluded.parked,
    given_up = max(given_up, excluded.given_up),
    failed_at_ms = excluded.failed_at_ms,
    last_error = excluded.last_error`;

export const FORGET_FAILURES = `
  UPDATE due_reads SET
    attempts = 0,
    faults = 0,
    retry_at_ms = 0,
    parked = 0,
    given_up = 0,
    failed_at_ms = NULL,
    last_error = NULL
  WHERE failed_at_ms IS NOT NULL`;

/** Run it with `FORGET_FAILURES`, unless a request has taken the row over. */
export const FORGET_UNREQUESTED = `
  DELETE FROM due_reads
  WHERE reason = '${READ_FAILED}'`;

export function prepareFailure(db: Db) {
  const fail = db.prepare(FAIL);
  return ({ parked, isGivenUp, ...failure }: ReadFailure & { readonly atMs: number }): void =>
    void fail.run({ ...failure, parked: parked ? 1 : 0, givenUp: isGivenUp ? 1 : 0 });
}
