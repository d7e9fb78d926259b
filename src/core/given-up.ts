/** Reads that the service refuses, or that failed over and over: the fault of single products, or of the whole. */

/** Failures of one product while the store answered others: more of them, and no run waits for it. */
export const GIVE_UP_FAULTS = 10;

/** Beyond this share of the catalogue it is no longer about single products. The view `mirror_status` says the same. */
const ISOLATED_SHARE = 0.05;

/** One product, or 5 % of them, may be broken in the service; beyond that, nothing is proven by the rest. */
export function isIsolated(givenUp: number, products: number): boolean {
  return givenUp < products && givenUp <= Math.max(1, Math.floor(products * ISOLATED_SHARE));
}
