/** The gap rule (docs/architecture.md#gaps): a broken chain waits a moment for the late delivery that closes it. */
import type { StockChange } from '../input.ts';
import { GAP_GRACE_MAX_MS, GAP_GRACE_MIN_MS } from '../limits.ts';
import type { Gap } from '../model.ts';

export function gapGraceMs(latenessMs: number): number {
  return Math.round(Math.min(GAP_GRACE_MAX_MS, Math.max(GAP_GRACE_MIN_MS, 2 * latenessMs)));
}

/** Rises at once with a later change, falls slowly with prompter ones. */
export function observeLateness(latenessMs: number, observedMs: number): number {
  return Math.max(0, Math.round(Math.max(observedMs, latenessMs + (observedMs - latenessMs) / 10)));
}

/** @returns null if the change touches neither end: one in the middle of a longer break cannot be placed. */
export function fillGap(gap: Gap, change: Pick<StockChange, 'old' | 'new'>): 'closed' | Gap | null {
  const fromStart = change.old === gap.fromQty;
  const toEnd = change.new === gap.toQty;
  if (change.old === change.new || (!fromStart && !toEnd)) return null;
  if (fromStart && toEnd) return 'closed';
  return fromStart ? { ...gap, fromQty: change.new } : { ...gap, toQty: change.old };
}
