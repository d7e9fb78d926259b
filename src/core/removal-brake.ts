/**
 * When removals wait for the operator (docs/architecture.md#mass-removal-guard): a store does not lose a large part of
 * its catalogue at once; a mistake of the store's does.
 */
import { BRAKE_ROWS, BRAKE_SHARE, BRAKE_WINDOW_MS } from './limits.ts';
import type { MirrorState } from './model.ts';

type RemovalCount = Pick<
  MirrorState,
  'removalWindowStartMs' | 'removalsInWindow' | 'variantRemovalsInWindow' | 'cellRemovalsInWindow'
>;

/** Removals of the present window, a new window when the last one has passed. */
export function removalWindow(state: RemovalCount, atMs: number): RemovalCount {
  const ageMs = atMs - state.removalWindowStartMs;
  if (ageMs >= 0 && ageMs < BRAKE_WINDOW_MS) return state;
  return {
    removalWindowStartMs: atMs,
    removalsInWindow: 0,
    variantRemovalsInWindow: 0,
    cellRemovalsInWindow: 0,
  };
}

/** Products, variants, or levels: each kind is counted by itself. */
interface AtStake {
  readonly live: number;
  /** Live, and sighted missing; what is held stays among them, so that the end of a window releases nothing. */
  readonly missing: number;
  readonly removedInWindow: number;
}

/** Would removing what is missing, after what was just removed, take more than the catalogue can plausibly lose? */
export function brakeHolds({ live, missing, removedInWindow }: AtStake): boolean {
  const atStake = missing + removedInWindow;
  const before = live + removedInWindow;
  // A small store too: that all of it is gone is said more often by wrong credentials than by the store.
  if (before > 1 && atStake >= before) return true;
  return atStake > BRAKE_ROWS && atStake > before * BRAKE_SHARE;
}

/** More that are missing make no difference, so nobody has to count them. */
export function brakeCountsTo({ live, removedInWindow }: Omit<AtStake, 'missing'>): number {
  return Math.max(BRAKE_ROWS, Math.floor((live + removedInWindow) * BRAKE_SHARE)) + 1;
}

/** Does one read leave out more of a product than anybody takes away at once: most of many? */
export function readHolds({
  before,
  missing,
}: {
  readonly before: number;
  readonly missing: number;
}): boolean {
  return missing > BRAKE_ROWS && missing * 2 > before;
}
