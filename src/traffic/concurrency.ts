/**
 * Additive increase, multiplicative decrease of the number of reads under way (docs/architecture.md#rates).
 */
interface Concurrency {
  /** Fractional; the floor of it may be under way at once. */
  readonly limit: number;
  /** Reads sent before this instant do not lower the limit again: one overload is answered once. */
  readonly decreasedAtMs: number;
}

export function startConcurrency(ceiling: number): Concurrency {
  return { limit: Math.min(2, ceiling), decreasedAtMs: 0 };
}

export function afterSuccess(state: Concurrency, ceiling: number): Concurrency {
  return { ...state, limit: Math.min(ceiling, state.limit + 1 / Math.max(1, state.limit)) };
}

export function afterOverload(state: Concurrency, sentAtMs: number, nowMs: number): Concurrency {
  if (sentAtMs < state.decreasedAtMs) return state;
  return { limit: Math.max(1, state.limit / 2), decreasedAtMs: nowMs };
}

export function allowed(state: Concurrency): number {
  return Math.max(1, Math.floor(state.limit));
}
