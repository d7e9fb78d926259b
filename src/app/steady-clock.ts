/**
 * The mirror's own clock. The rules compare instants a second or two apart, so a wall clock that is set must not
 * make two seconds of nothing: this clock runs with the monotonic one and approaches the wall clock slowly.
 */
export interface SteadyClock {
  readonly nowMs: number;
  readonly monotonicMs: number;
}

/** Share of the elapsed time by which the clock may run faster or slower to approach the wall clock. */
const SLEW = 0.1;
/** The wall clock ran ahead by more than this while the process stood still: it was suspended, or time was set. */
export const JUMP_MS = 5_000;

/** @returns the clock's next reading; `jumpedMs` > 0 when nobody was listening for that long. */
export function advance(
  clock: SteadyClock,
  wallMs: number,
  monotonicMs: number,
): { clock: SteadyClock; jumpedMs: number } {
  const elapsedMs = Math.max(0, monotonicMs - clock.monotonicMs);
  const steadyMs = clock.nowMs + elapsedMs;
  const behindMs = wallMs - steadyMs;
  if (behindMs > JUMP_MS) return { clock: { nowMs: wallMs, monotonicMs }, jumpedMs: behindMs };
  const slewMs = Math.min(elapsedMs * SLEW, Math.max(-elapsedMs * SLEW, behindMs));
  return { clock: { nowMs: steadyMs + slewMs, monotonicMs }, jumpedMs: 0 };
}
