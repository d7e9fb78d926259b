/**
 * How often each product changes, as a share of all changes of the store (docs/freshness.md#how-often-a-product-changes):
 * a count of its own changes, of which half is forgotten every three days.
 */

/** Long enough for the quiet ones to be told apart, short enough to follow what sells. */
export const ACTIVITY_HALF_LIFE_MS = 3 * 24 * 60 * 60_000;
/** So many changes every product is credited with: one that was never seen to change is quiet, not dead. */
const PRIOR_CHANGES = 0.5;

/** What is left of a count after a while. */
export function faded(count: number, elapsedMs: number): number {
  return elapsedMs <= 0 ? count : count * 2 ** (-elapsedMs / ACTIVITY_HALF_LIFE_MS);
}

/** Of all products together. */
export interface StoreActivity {
  /** The sum of their counts, now. */
  readonly changes: number;
  readonly products: number;
}

/** The share of the store's changes that is expected to be of this product. @param count of its changes, now. */
export function shareOf(count: number, { changes, products }: StoreActivity): number {
  return (count + PRIOR_CHANGES) / (changes + PRIOR_CHANGES * Math.max(1, products));
}

const CLASSES_AN_OCTAVE = 2;
/** Shares below are of the first class. */
export const RATE_CLASSES = 64;

/** Products of one class change about equally often, so that the one certain longest ago is the first to be read. */
export function rateClassOf(share: number): number {
  const above = Math.floor(CLASSES_AN_OCTAVE * Math.log2(Math.max(share, Number.MIN_VALUE)));
  return Math.min(RATE_CLASSES - 1, Math.max(0, RATE_CLASSES - 1 + above));
}

/** The middle of a class. */
export function shareOfClass(rateClass: number): number {
  return 2 ** ((rateClass - RATE_CLASSES + 1.5) / CLASSES_AN_OCTAVE);
}
