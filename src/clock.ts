/** The process's clock: see core/steady-clock.ts for why it is not the wall clock. */
import { advance, type SteadyClock } from './core/steady-clock.ts';

export interface Clock {
  /** Epoch ms, never falling. */
  readonly now: () => number;
  /** Told when the wall clock ran ahead while the process stood still: nobody listened for `jumpedMs`. */
  readonly onJump: (listener: (jumpedMs: number) => void) => void;
}

/** @param notBeforeMs the last instant on record: a clock that was set back between two starts is not followed. */
export function createClock(notBeforeMs: number): Clock {
  let steady: SteadyClock = { nowMs: Math.max(Date.now(), notBeforeMs), monotonicMs: performance.now() };
  const listeners: ((jumpedMs: number) => void)[] = [];
  return {
    now: () => {
      const next = advance(steady, Date.now(), performance.now());
      steady = next.clock;
      if (next.jumpedMs > 0) for (const listener of listeners) listener(next.jumpedMs);
      return Math.round(steady.nowMs);
    },
    onJump: (listener) => void listeners.push(listener),
  };
}
