/**
 * The brake (docs/architecture.md#mass-removal-guard): a store does not lose a large part of its catalogue at
 * once; an upstream mistake does.
 */
import { BRAKE_PRODUCTS, BRAKE_SHARE, BRAKE_WINDOW_MS } from './limits.ts';
import type { MirrorState } from './model.ts';

export type RemovalCount = Pick<MirrorState, 'removalWindowStartMs' | 'removalsInWindow'>;

/** Removals of the present window, a new window when the last one has passed. */
export function removalWindow(state: RemovalCount, atMs: number): RemovalCount {
  const ageMs = atMs - state.removalWindowStartMs;
  if (ageMs >= 0 && ageMs < BRAKE_WINDOW_MS) return state;
  return { removalWindowStartMs: atMs, removalsInWindow: 0 };
}

/** Would removing the products now missing, after those just removed, take more than the catalogue can plausibly lose? */
export function brakeHolds(count: {
  readonly liveProducts: number;
  readonly missingProducts: number;
  readonly removalsInWindow: number;
}): boolean {
  const atStake = count.missingProducts + count.removalsInWindow;
  const before = count.liveProducts + count.removalsInWindow;
  // A small store too: that all of it is gone is said more often by wrong credentials than by the store.
  if (before > 1 && atStake >= before) return true;
  return atStake > BRAKE_PRODUCTS && atStake > before * BRAKE_SHARE;
}
