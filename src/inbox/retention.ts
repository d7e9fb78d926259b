/** The rules of deleting by age, which receiver and mirror share (docs/architecture.md#pruning). */

const DAY_MS = 24 * 60 * 60_000;
const CLOCK_OFF_MS = 60 * 60_000;

/**
 * A machine that booted with a wrong date must not delete its history.
 * @param aheadMs how far its clock is ahead of the store's; null if nothing has shown it.
 */
export function isClockRight(aheadMs: number | null): boolean {
  return aheadMs !== null && Math.abs(aheadMs) < CLOCK_OFF_MS;
}

/** Rows stamped after this instant were stamped by a wrong clock: their age is unknown, and they are old enough. */
export function futureMs(nowMs: number): number {
  return nowMs + CLOCK_OFF_MS;
}

/** Rows from before this instant may be deleted. */
export function keptSinceMs(nowMs: number, retentionDays: number): number {
  return nowMs - retentionDays * DAY_MS;
}
