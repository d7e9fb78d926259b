/**
 * How many reads the model may ask for (docs/freshness.md#the-budget). What a rule asks for does not count. Besides, how
 * many go to those unread for longest, so that none is left out for ever (docs/freshness.md#the-longest-time).
 */

const HOUR_MS = 60 * 60_000;
/** Each proven loss allows so much of an hour's budget more, within the hour after it. */
const A_LOSS = 1 / 8;
/** Proofs can raise the budget to so many times what it is at rest. */
const MOST_TIMES = 12;

/** Reads an hour. @param atRest while nothing is proven lost. */
export function readsPerHour(atRest: number, provenInLastHour: number): number {
  return atRest * Math.min(MOST_TIMES, 1 + provenInLastHour * A_LOSS);
}

/** What a time is worth in reads. Calm is not saved up: no more than an hour's. */
export function readsIn(elapsedMs: number, perHour: number): number {
  return (perHour * Math.min(HOUR_MS, Math.max(0, elapsedMs))) / HOUR_MS;
}

/** From half the longest time on, so many that the last of them is read in the other half. */
export function overdueReads(products: number, elapsedMs: number, longestMs: number): number {
  return Math.ceil((2 * products * Math.max(0, elapsedMs)) / longestMs);
}
