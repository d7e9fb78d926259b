/**
 * Holds mass removals for the operator: they are likelier
 * wrong answers (docs/architecture.md#mass-removal-guard).
 */
import { GUARD_QUANTITIES, GUARD_SHARE, GUARD_WINDOW_MS } from '../limits.ts';
import type { MirrorStateRow } from '../model.ts';

type RemovalCount = Pick<MirrorStateRow, 'removalWindowStartMs' | 'removedInWindow'>;

export function removalWindow(state: RemovalCount, atMs: number): RemovalCount {
  const ageMs = atMs - state.removalWindowStartMs;
  if (ageMs >= 0 && ageMs < GUARD_WINDOW_MS) return state;
  return { removalWindowStartMs: atMs, removedInWindow: 0 };
}

/** Quantities that can be sold: stock levels, or the total of a variant without any. */
export interface AtStake {
  readonly live: number;
  /** Live, and sighted missing with its product, its variant or alone: held ones too, so the end of a window releases nothing. */
  readonly missing: number;
  readonly removedInWindow: number;
}

export function guardHolds({ live, missing, removedInWindow }: AtStake): boolean {
  const before = live + removedInWindow;
  // In a small store too, wrong credentials are likelier than the loss of everything.
  if (before > 1 && missing >= live) return true;
  const atStake = missing + removedInWindow;
  return atStake > GUARD_QUANTITIES && atStake > before * GUARD_SHARE;
}

/** Where counting missing quantities may stop: from here on the guard holds, whatever was removed in the window. */
export function guardCountsTo(live: number): number {
  return Math.max(GUARD_QUANTITIES, Math.floor(live * GUARD_SHARE)) + 1;
}
