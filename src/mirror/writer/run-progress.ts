import type { Db } from '../../sqlite/open.ts';
import { remainingOf, runById, type Remaining } from '../queries/runs.ts';

interface ProgressArgs {
  readonly id: number;
  /** Identifies the run together with its id, which another run may have in a new file. */
  readonly startedAtMs: number;
  readonly nowMs: number;
}

/** @returns a function that counts what a run has read, stores it, and returns what is left; null if the run has ended. */
export function prepareProgress(db: Db): (args: ProgressArgs) => Remaining | null {
  const store = db.prepare('UPDATE runs SET total = @total, done = @done, failed = @failed WHERE id = @id');
  return ({ id, startedAtMs, nowMs }) => {
    const run = runById(db, { id });
    if (run === null || run.startedAtMs !== startedAtMs || run.state !== 'running') return null;
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
