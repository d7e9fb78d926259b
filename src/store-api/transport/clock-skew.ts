import type { AnswerTimes } from './errors.ts';

/**
 * How far the store's clock is ahead of this one, at least, as the `Date` of an answer shows it; negative: behind.
 * The header has whole seconds, and the answer was made somewhere between sending and receiving.
 *
 * @returns null when there is no such header, 0 when the clocks may agree.
 */
export function storeAheadMs({ sentAtMs, receivedAtMs, serverDateMs }: AnswerTimes): number | null {
  if (serverDateMs === null) return null;
  const leastMs = serverDateMs - receivedAtMs;
  const mostMs = serverDateMs + 1_000 - sentAtMs;
  return leastMs > 0 ? leastMs : mostMs < 0 ? mostMs : 0;
}
