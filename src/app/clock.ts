/** The process's clock: see app/steady-clock.ts for why it is not the wall clock. */
import { advance, JUMP_MS, type SteadyClock } from './steady-clock.ts';

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
