/** Reads that the store refuses, or that failed over and over: the fault of single products, or of the whole. */

/** Failures of one product while the store answered others: more of them, and no run waits for it. */
const GIVE_UP_FAULTS = 10;

export function isGivenUp(read: { readonly parked: boolean; readonly faults: number }): boolean {
  return read.parked || read.faults >= GIVE_UP_FAULTS;
}

/** One product in so many may be broken in the store. */
export const ISOLATED_ONE_IN = 20;

/**
 * One product, or 5 % of them, may be broken in the store, as long as it shows another; beyond that, nothing is proven by
 * the rest, and the mirror is stale (the view `state_cause`).
 */
export function isIsolated(givenUp: number, products: number): boolean {
  return (
    givenUp === 0 || (givenUp < products && givenUp <= Math.max(1, Math.floor(products / ISOLATED_ONE_IN)))
  );
}
