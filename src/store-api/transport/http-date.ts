/** Times in HTTP headers. */
import type { AnswerTimes } from './errors.ts';
import type { TransportResponse } from './transport.ts';

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The store blocks for 15 minutes at most; a mistake of the other side must not stop the client for a year. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000;

/** An HTTP date as epoch ms; null when it is not one. Other texts that `Date.parse` takes depend on the local zone. */
export function parseHttpDateMs(value: string | undefined): number | null {
  if (value === undefined || !IMF_FIXDATE.test(value)) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : ms;
}

/** `Retry-After` in ms: whole seconds, at most an hour. undefined: absent, or a date, which only proxies send. */
export function retryAfterMs({ headers }: TransportResponse): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  return /^\d+$/.test(value) ? Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS) : undefined;
}

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
