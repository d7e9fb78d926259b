/** When the next token request may be sent. Kept apart from the sending: it only counts and compares times. */
import { fullJitterMs } from '../../traffic/backoff.ts';

/** A period, epoch ms, in which no token request is sent. */
export interface Pause {
  readonly fromMs: number;
  readonly untilMs: number;
}

const MIN_DELAY_MS = 1_000;
const POLICY = { baseMs: 2_000, capMs: 60_000 };

/** A token refused sooner than this after it was issued points to a fault that another token will not cure. */
const YOUNG_MS = 60_000;

/**
 * The rest of a pause in ms, 0 when it is over. A clock that was set back to before its beginning ends it, so that it
 * cannot last too long.
 */
export function remainingMs(pause: Pause | null, nowMs: number): number {
  if (pause === null || nowMs < pause.fromMs) return 0;
  return Math.max(0, pause.untilMs - nowMs);
}

/** How long to wait after the n-th failed request in a row: at least 1 s, full jitter, at most 60 s. */
export function pauseAfterFailure(failures: number, nowMs: number, random: number): Pause {
  const delayMs = Math.max(MIN_DELAY_MS, fullJitterMs(failures, POLICY, random));
  return { fromMs: nowMs, untilMs: nowMs + delayMs };
}

/** How many tokens in a row were refused while young, including one more that was issued at `issuedAtMs`. */
export function youngRefusals(before: number, issuedAtMs: number, nowMs: number): number {
  return nowMs - issuedAtMs < YOUNG_MS ? before + 1 : 0;
}

/** Refreshed 5 minutes early, or when 90 % of a short life is over. */
export function refreshAtMs(token: { readonly issuedAtMs: number; readonly expiresAtMs: number }): number {
  const lifeMs = token.expiresAtMs - token.issuedAtMs;
  return token.expiresAtMs - Math.min(5 * 60_000, lifeMs / 10);
}
