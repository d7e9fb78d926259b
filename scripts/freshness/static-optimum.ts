/**
 * The best that reads at fixed, even intervals can do when the rate of each level's changes is known: by Lagrange, each
 * read more of any level must save the same. A change is lost with probability q and stays wrong until the next change or
 * read of its level: q·λ/(λ + 2r) of the time, for changes of rate λ and reads of rate r.
 */

/** @param rates changes of each level per second. @returns reads of each per second, so many in all. */
export function staticOptimum(rates: Float64Array, readsPerSecond: number): Float64Array {
  const at = (price: number): { reads: Float64Array; total: number } => {
    let total = 0;
    const reads = rates.map((rate) => {
      const read = Math.max(0, (Math.sqrt((2 * rate) / price) - rate) / 2);
      total += read;
      return read;
    });
    return { reads, total };
  };
  let low = 1e-12;
  let high = 1e12;
  for (let i = 0; i < 200; i++) {
    const middle = Math.sqrt(low * high);
    if (at(middle).total > readsPerSecond) low = middle;
    else high = middle;
  }
  return at(high).reads;
}

/** Wrong level-seconds in an hour. */
export function wrongInAnHour(rates: Float64Array, reads: Float64Array, loss: number): number {
  return rates.reduce((sum, rate, i) => sum + (3600 * loss * rate) / (rate + 2 * (reads[i] ?? 0)), 0);
}
