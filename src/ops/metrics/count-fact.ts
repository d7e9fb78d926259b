/** Counts the effects of a committed entry. Changes and levels are counted where they are applied. */
import type { Fact } from '../../core/apply/fact.ts';
import type { Counting } from './counting.ts';

export function countFact(counting: Counting, fact: Fact, nowMs: number): void {
  switch (fact.kind) {
    case 'gap_opened':
      counting.gaps.opened.inc();
      return;
    case 'gap_closed':
      counting.gaps.closed.inc();
      return;
    case 'gap_proved':
      counting.gaps.proved.inc();
      counting.repairSeconds.gap.observe(Math.max(0, nowMs - fact.gap.openedAtMs) / 1_000);
      return;
    case 'drift':
      counting.drift[fact.cause].inc();
      return;
    case 'met':
      counting.repairSeconds[fact.reason].observe(Math.max(0, fact.ageMs) / 1_000);
      return;
    case 'removed':
      counting.removed[fact.what].inc();
      return;
    case 'dead_letter':
      counting.deadLetters.inc();
      return;
    case 'change':
    case 'level':
    case 'read_requested':
    case 'loss_suspected':
    case 'unmapped':
    case 'missing':
    case 'contested':
    case 'removals_held':
    case 'moved':
    case 'not_found':
    case 'clock_contradiction':
    case 'date':
    case 'run_begun':
    case 'wrong_store':
  }
}
