/** At most so many requests per second, evenly: a bucket that fills with time. */
interface Rate {
  readonly tokens: number;
  readonly atMs: number;
}

/** How much of a second's allowance may be sent at once. */
const BURST_SECONDS = 0.1;

export function startRate(nowMs: number): Rate {
  return { tokens: 1, atMs: nowMs };
}

export function refill(rate: Rate, perSecond: number, nowMs: number): Rate {
  const capacity = Math.max(1, perSecond * BURST_SECONDS);
  const elapsedMs = Math.max(0, nowMs - rate.atMs);
  return { tokens: Math.min(capacity, rate.tokens + (elapsedMs * perSecond) / 1000), atMs: nowMs };
}

export function take(rate: Rate): Rate {
  return { ...rate, tokens: rate.tokens - 1 };
}
