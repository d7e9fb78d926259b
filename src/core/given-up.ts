/** Failures of one product while the store answered other requests, after which no run waits for it. */
const GIVE_UP_FAULTS = 10;

export function isGivenUp(read: { readonly parked: boolean; readonly faults: number }): boolean {
  return read.parked || read.faults >= GIVE_UP_FAULTS;
}

export const ISOLATED_ONE_IN = 20;

/** Up to 5 % of the products, or one, may be broken in the store; beyond that, the mirror is stale (`state_cause`). */
export function isIsolated(givenUp: number, products: number): boolean {
  return (
    givenUp === 0 || (givenUp < products && givenUp <= Math.max(1, Math.floor(products / ISOLATED_ONE_IN)))
  );
}
