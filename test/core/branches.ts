/** Every branch of the rules by name, so that a test can ask whether each was taken. */
import type { ChangeBranch } from '../../src/core/merge-change.ts';
import type { LevelBranch } from '../../src/core/merge-read.ts';

export const CHANGE_BRANCHES: Record<ChangeBranch, true> = {
  '1 new cell': true,
  '2 stale': true,
  '2 stale, yet follows': true,
  '3 duplicate': true,
  '3 seen by the read': true,
  '3 follows': true,
  '3 precedes': true,
  '3 order unknown': true,
  '4a seen by the read': true,
  '4b confirmed': true,
  '4b in doubt': true,
  '4c follows': true,
  '4c gap': true,
  'gone, seen by the read': true,
  'gone, in doubt': true,
  poison: true,
};
export const LEVEL_BRANCHES: Record<LevelBranch, true> = {
  'new cell': true,
  'superseded, unknown cell': true,
  'concurrent, agrees': true,
  'concurrent, differs': true,
  'dominated, agrees': true,
  'dominated, drift': true,
  'dominated, back from the dead': true,
};

/** Those that contradict something: each must leave what a later read has to meet. */
export const DOUBTFUL: ReadonlySet<string> = new Set([
  '1 new cell',
  '2 stale, yet follows',
  '3 order unknown',
  '4b in doubt',
  '4c gap',
  'gone, in doubt',
  'poison',
  'concurrent, differs',
  'superseded, unknown cell',
]);
