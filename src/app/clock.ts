/**
 * The mirror's own clock. The rules compare instants a second or two apart, so a wall clock that is set must not
 * make two seconds of nothing: this clock runs with the monotonic one and approaches the wall clock slowly.
 */
interface SteadyClock {
  readonly nowMs: number;
  readonly monotonicMs: number;
}

/** Share of the elapsed time by which the clock may run faster or slower to approach the wall clock. */
const SLEW = 0.1;
/** The wall clock ran ahead by more than this while the process stood still: it was suspended, or time was set. */
const JUMP_MS = 2_000;

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

export interface Clock {
  /** Epoch ms, never falling. */
  readonly now: () => number;
  /**
   * Called when the process stood still and received nothing for `silentMs`. Either the wall clock ran ahead
   * meanwhile (a suspended machine), or the time was not asked for that long, which a running mirror does every
   * second.
   */
  readonly onStandstill: (listener: (silentMs: number) => void) => void;
}

/**
 * @param notBeforeMs the last instant in the database: a clock that was set back between two starts is not followed.
 */
export function createClock(notBeforeMs: number): Clock {
  let steady: SteadyClock = { nowMs: Math.max(Date.now(), notBeforeMs), monotonicMs: performance.now() };
  const listeners: ((silentMs: number) => void)[] = [];
  return {
    now: () => {
      const unaskedMs = performance.now() - steady.monotonicMs;
      const { clock, jumpedMs } = advance(steady, Date.now(), performance.now());
      steady = clock;
      const silentMs = jumpedMs + (unaskedMs > JUMP_MS ? unaskedMs : 0);
      if (silentMs > 0) for (const listener of listeners) listener(silentMs);
      return Math.round(steady.nowMs);
    },
    onStandstill: (listener) => void listeners.push(listener),
  };
}
