/** What pruning has deleted: rows of each kind. */
import type { Fact } from '../../core/apply/fact.ts';

export interface Pruned {
  readonly log: number;
  readonly changes: number;
  readonly quarantine: number;
  readonly runs: number;
}

export const NOTHING_PRUNED: Pruned = { log: 0, changes: 0, quarantine: 0, runs: 0 };

/** @param facts of the entry that pruned the tables. */
export function prunedIn(facts: readonly Fact[]): Omit<Pruned, 'log'> {
  const { changes, quarantine, runs } = facts.find((fact) => fact.kind === 'pruned') ?? NOTHING_PRUNED;
  return { changes, quarantine, runs };
}

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
