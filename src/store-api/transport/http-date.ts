import type { AnswerTimes } from './errors.ts';
import type { TransportResponse } from './transport.ts';

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The store blocks for 15 minutes at most; a wrong header must not stop the client for a year. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000;

/** Epoch ms, or null. `Date.parse` also takes other texts, but reads them in the local time zone. */
export function parseHttpDateMs(value: string | undefined): number | null {
  if (value === undefined || !IMF_FIXDATE.test(value)) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : ms;
}

/** `Retry-After` in ms, at most an hour. undefined if absent or a date, which only proxies send. */
export function retryAfterMs({ headers }: TransportResponse): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  return /^\d+$/.test(value) ? Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS) : undefined;
}

/**
 * The least amount by which the store's clock is ahead; negative: behind; 0: they may agree. `Date` has whole seconds,
 * and the answer was made at some time between sending and receipt. null without the header.
 */
export function storeAheadMs({ sentAtMs, receivedAtMs, serverDateMs }: AnswerTimes): number | null {
  if (serverDateMs === null) return null;
  const leastMs = serverDateMs - receivedAtMs;
  const mostMs = serverDateMs + 1_000 - sentAtMs;
  return leastMs > 0 ? leastMs : mostMs < 0 ? mostMs : 0;
}
