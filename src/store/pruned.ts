/** What pruning has deleted: rows of each kind. */
export interface Pruned {
  readonly log: number;
  readonly changes: number;
  readonly quarantine: number;
  readonly runs: number;
}

export const NOTHING_PRUNED: Pruned = { log: 0, changes: 0, quarantine: 0, runs: 0 };

export function bothPruned(a: Pruned, b: Pruned): Pruned {
  return {
    log: a.log + b.log,
    changes: a.changes + b.changes,
    quarantine: a.quarantine + b.quarantine,
    runs: a.runs + b.runs,
  };
}

export function rowsOf({ log, changes, quarantine, runs }: Pruned): number {
  return log + changes + quarantine + runs;
}
