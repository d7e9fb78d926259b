export interface BackoffPolicy {
  readonly baseMs: number;
  readonly capMs: number;
}

/** Exponential backoff with full jitter. @param attempt 1 after the first failure. @param random in [0, 1). */
export function fullJitterMs(attempt: number, policy: BackoffPolicy, random: number): number {
  const ceilingMs = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(30, Math.max(0, attempt - 1)));
  // Never at once, so that nothing retries in a tight loop.
  return Math.round(Math.max(policy.baseMs / 10, random * ceilingMs));
}
