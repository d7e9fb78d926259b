/** A run, as the API and the command line show it. */
import type { Run } from '../../core/runs.ts';

interface RunView {
  readonly run_id: number;
  readonly kind: Run['kind'];
  readonly state: Run['state'];
  readonly started_at: number;
  readonly finished_at: number | null;
  /** Products in the run; grows while the catalogue list is still being read. */
  readonly total: number;
  readonly done: number;
  /** Differences that its reads found and corrected. */
  readonly drift: number;
  /** Products that the store refused to show. */
  readonly failed: number;
  readonly error: string | null;
}

export function viewRun(run: Run): RunView {
  return {
    run_id: run.id,
    kind: run.kind,
    state: run.state,
    started_at: run.startedAtMs,
    finished_at: run.finishedAtMs,
    total: run.total,
    done: run.done,
    drift: run.drift,
    failed: run.failed,
    error: run.error,
  };
}
