/** Branches of the rules that leave something behind. */
import type { ChangeBranch } from '../../src/core/merge/change-outcome.ts';
import type { LevelBranch } from '../../src/core/merge/merge-read.ts';

export const ASKING_FOR_READ: ReadonlySet<string> = new Set<ChangeBranch | LevelBranch>([
  '1 new level',
  '2 stale, yet follows',
  '3 order unknown',
  '4b uncertain',
  '4c gap',
  'gone, uncertain',
  'future-dated',
  'concurrent, differs',
  'superseded, unknown level',
]);
