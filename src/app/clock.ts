/** Follows the monotonic clock and approaches the wall clock slowly: the rules compare instants 1 or 2 s apart. */
interface SteadyClock {
  readonly nowMs: number;
  readonly monotonicMs: number;
}

/** Largest share of the elapsed time by which the clock runs faster or slower to approach the wall clock. */
const SLEW = 0.1;
/** A larger lead of the wall clock means that the machine was suspended, or that the time was set. */
const JUMP_MS = 2_000;

/** @returns the clock's next reading, and how far it jumped: for that long, no delivery could be received. */
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
  /** Epoch ms, never decreasing. */
  readonly now: () => number;
  /** Called after `silentMs` (whole) without receiving: the wall clock ran ahead (suspend), or nothing called `now`. */
  readonly onStandstill: (listener: (silentMs: number) => void) => void;
}

/** @param notBeforeMs the last instant in the database: the clock never falls behind it. */
export function createClock(notBeforeMs: number): Clock {
  let steady: SteadyClock = { nowMs: Math.max(Date.now(), notBeforeMs), monotonicMs: performance.now() };
  const listeners: ((silentMs: number) => void)[] = [];
  return {
    now: () => {
      const unaskedMs = performance.now() - steady.monotonicMs;
      const { clock, jumpedMs } = advance(steady, Date.now(), performance.now());
      steady = clock;
      // Rounded up: databases keep whole milliseconds, and the time without receiving must not shrink.
      const silentMs = Math.ceil(jumpedMs + (unaskedMs > JUMP_MS ? unaskedMs : 0));
      if (silentMs > 0) for (const listener of listeners) listener(silentMs);
      return Math.round(steady.nowMs);
    },
    onStandstill: (listener) => void listeners.push(listener),
  };
}
