import type { Run } from '../../core/runs.ts';

export function viewRun(run: Run) {
  return {
    run_id: run.id,
    kind: run.kind,
    state: run.state,
    started_at: run.startedAtMs,
    finished_at: run.finishedAtMs,
    total: run.total,
    done: run.done,
    drift: run.drift,
    removed: run.removed,
    allowed_by: run.allowedBy,
    allowed_why: run.allowedWhy,
    failed: run.failed,
    list_gap: run.listGap,
    error: run.error,
  };
}
