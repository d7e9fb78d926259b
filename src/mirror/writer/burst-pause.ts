/**
 * In a burst answers go first: while many deliveries wait for theirs, each transaction of the projection is followed by
 * a pause of several times its length. A lower priority alone does not do it. What the other threads leave over for a
 * moment is then used, and they find less of their own in the processor's caches.
 */

/** So many wait only when more arrive than is answered. */
const BURST_WAITING = 64;
const PAUSE_TIMES = 3;
const LONGEST_PAUSE_MS = 100;
/** With more than this to apply, the mirror would be behind for longer than a burst is worth. */
const MOST_LEFT = 500_000;

/** Of the moment after a transaction. */
interface Load {
  /** How long the transaction took. */
  readonly tookMs: number;
  /** Deliveries that waited for their answer when the log was last appended to during it; 0: it was not. */
  readonly waiting: number;
  /** Entries still to be applied. */
  readonly left: number;
}

/** @returns for how many milliseconds nothing is to be applied; 0 outside a burst. */
export function burstPauseMs({ tookMs, waiting, left }: Load): number {
  if (waiting < BURST_WAITING || left > MOST_LEFT) return 0;
  return Math.min(PAUSE_TIMES * tookMs, LONGEST_PAUSE_MS);
}
