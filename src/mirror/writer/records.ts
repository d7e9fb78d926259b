import type { Input, ReadInput, RunBegunInput } from '../../core/input.ts';
import type { Fact } from '../../core/apply/fact.ts';
import type { Db } from '../../sqlite/open.ts';
import { prepareRows } from '../../sqlite/prepared.ts';
import { runOf, type RunRow } from '../file/run-row.ts';
import { columnsOf } from '../file/statements.ts';
import { FORGET_FAILURES, FORGET_UNREQUESTED, RETRY_FAILURES } from './failures.ts';

/** @returns a function that records runs and the end of failures, inside the transaction, and returns further facts. */
export function prepareRecords(db: Db): (input: Input, ruled: readonly Fact[]) => readonly Fact[] {
  // The rules have deleted the row if the read met its request.
  const clearFailure = db.prepare(`${FORGET_FAILURES} AND product_id = ?`);
  const endUnrequested = db.prepare(`${FORGET_UNREQUESTED} AND product_id = ?`);
  const retryFailures = db.prepare(RETRY_FAILURES);
  const beginRun = prepareRows<[object], RunRow>(
    db,
    columnsOf(db, 'runs'),
    (columns) => `
      INSERT INTO runs (
        kind, state, started_at_ms, read_after_ms, product_ids_json, list_offset, list_done, total, done, failed
      )
      VALUES (@run, 'running', @atMs, @readAfterMs, @productIds, 0, @listDone, @total, 0, 0)
      RETURNING ${columns}`,
  );
  const endRun = db.prepare(
    `UPDATE runs SET
       state = iif(@error IS NULL, 'done', 'failed'),
       finished_at_ms = @atMs,
       error = @error,
       list_offset = 0,
       list_last_id = NULL,
       list_done = 1
     WHERE id = @runId AND started_at_ms = @startedAtMs AND state = 'running'`,
  );
  // In the transaction of the correction, so that a finished run has counted every difference.
  const countRemoved = db.prepare("UPDATE runs SET removed = removed + ? WHERE state = 'running'");
  // Each product counts once.
  const countCompared = db.prepare<[object]>(
    `UPDATE runs SET compared = compared + @values
     WHERE state = 'running' AND read_after_ms > @lastReadAtMs AND read_after_ms <= @sentAtMs
       AND (
         product_ids_json IS NULL
         OR EXISTS (SELECT 1 FROM json_each(product_ids_json) AS named WHERE named.value = @productId)
       )`,
  );
  const countDifference = db.prepare<[{ readonly path: string }]>(
    `UPDATE runs SET
       differences_json = json_set(differences_json, @path, coalesce(differences_json ->> @path, 0) + 1)
     WHERE state = 'running'`,
  );
  const allow = db.prepare('UPDATE runs SET allowed_by = @by, allowed_why = @reason WHERE id = @runId');
  const synced = db.prepare('UPDATE service_state SET last_full_sync_at_ms = ?');

  /** Retries earlier failures, or the run would end without those products. */
  const begin = ({ productIds, ...run }: RunBegunInput): readonly Fact[] => {
    retryFailures.run();
    const row = beginRun.get({
      ...run,
      productIds: productIds === null ? null : JSON.stringify(productIds),
      listDone: productIds === null ? 0 : 1,
    });
    return row === undefined ? [] : [{ kind: 'run_begun', run: runOf(row) }];
  };
  const noteFound = ({ sentAtMs }: ReadInput, ruled: readonly Fact[]): void => {
    for (const fact of ruled) {
      if (fact.kind === 'compared') countCompared.run({ ...fact, sentAtMs });
      else if (fact.kind === 'drift') countDifference.run({ path: `$.${fact.reason}` });
      else if (fact.kind === 'removed' && fact.quantities > 0) countRemoved.run(fact.quantities);
    }
  };
  return (input, ruled) => {
    switch (input.kind) {
      case 'read':
        clearFailure.run(input.productId);
        endUnrequested.run(input.productId);
        noteFound(input, ruled);
        return [];
      case 'run_begun':
        return begin(input);
      case 'run_ended':
        endRun.run(input);
        if (input.fullSync) synced.run(input.atMs);
        return [];
      case 'delivery':
      case 'listed':
      case 'list_completed':
      case 'request_reads':
      case 'bundles_due':
      case 'untold_due':
      case 'secrets':
      case 'missed':
      case 'lookup_missed':
        return [];
      case 'allow_removals':
        allow.run({ by: input.by, reason: input.reason, runId: input.runId });
        return [];
    }
  };
}
