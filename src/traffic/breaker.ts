/**
 * The breaker (docs/architecture.md#rates): after repeated failures nothing is sent but one probe at a time.
 */
import { fullJitterMs, type BackoffPolicy } from './backoff.ts';

export type Breaker =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly opens: number; readonly probeAtMs: number }
  | { readonly kind: 'probing'; readonly opens: number };

interface BreakerPolicy {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly backoff: BackoffPolicy;
}

export const CLOSED: Breaker = { kind: 'closed', failures: 0 };

export function mayCall(breaker: Breaker, nowMs: number): 'yes' | 'probe' | 'no' {
  switch (breaker.kind) {
    case 'closed':
      return 'yes';
    case 'open':
      return nowMs >= breaker.probeAtMs ? 'probe' : 'no';
    case 'probing':
      return 'no';
  }
}

/** The caller that was told `probe` goes ahead. */
export function probing(breaker: Breaker): Breaker {
  return { kind: 'probing', opens: breaker.kind === 'closed' ? 0 : breaker.opens };
}

export function succeeded(): Breaker {
  return CLOSED;
}

export function failed(breaker: Breaker, policy: BreakerPolicy, nowMs: number, random: number): Breaker {
  if (breaker.kind === 'closed') {
    const failures = breaker.failures + 1;
    if (failures < policy.failures) return { kind: 'closed', failures };
    return { kind: 'open', opens: 1, probeAtMs: nowMs + fullJitterMs(1, policy.backoff, random) };
  }
  // A call that was under way when the breaker opened tells nothing new.
  if (breaker.kind === 'open') return breaker;
  const opens = breaker.opens + 1;
  return { kind: 'open', opens, probeAtMs: nowMs + fullJitterMs(opens, policy.backoff, random) };
}
