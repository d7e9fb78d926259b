/** What an item of a delivery did, in words: one for each branch of the merge rule. */
import type { ChangeBranch } from '../../core/merge/change-outcome.ts';

export const OUTCOME_WORDS: Readonly<Record<ChangeBranch, string>> = {
  '1 new level': 'applied: the first value of this stock level',
  '2 stale': 'not applied: older than a change that arrived before it',
  '2 stale, yet follows': 'not applied: older, yet it continues the chain; its product is read',
  '3 duplicate': 'no change: the same change was applied before',
  '3 seen by the read': 'no change: a read already included it',
  '3 follows': 'applied: it continues another change of the same instant',
  '3 precedes': 'not applied: it precedes another change of the same instant',
  '3 order unknown': 'ambiguous: another change has the same instant; its product is read',
  '4a seen by the read': 'no change: a read already included it',
  '4b confirmed': 'no change: a read showed the same value',
  '4b in doubt': 'a read may have included it; its product is read',
  '4c follows': 'applied',
  '4c gap': 'applied, after a gap: a delivery is late or lost',
  'gone, seen by the read': 'not applied: the store had removed it by then',
  'gone, in doubt': 'not applied: removed, perhaps added again; its product is read',
  'gone, shown again': 'applied: the removed level is back',
  'future-dated': 'applied, with its time ignored: it is stamped in the future; its product is read',
};
