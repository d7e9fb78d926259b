import type { Random } from './random.ts';

/** The platform timers that the sandbox uses, so that a test can control time. */
export type Timers = {
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
};

export const systemTimers: Timers = {
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (handle) => {
    clearTimeout(handle as NodeJS.Timeout);
  },
};

export type Clock = {
  /** The store's time: the base clock plus the offset. Epoch ms. */
  now(): number;
  /**
   * The base clock, without the offset: for durations and ages, which a stepped clock must not stretch. Moving time
   * ahead with `advance` does count.
   */
  baseNow(): number;
  /** The `update_time` that a node of the store gives a change made now. */
  stamp(): number;
  /** How far the store's clock is from the base clock. Set it at any time to step the clock. */
  offsetMs: number;
  /** Largest difference between a node's clock and `now()`. 0: every node agrees. */
  nodeSkewMs: number;
  /** Moves both clocks ahead at once: after four hours, a token has expired. */
  advance(ms: number): void;
  /** Calls the listener when a clock is moved by `advance` or by setting the offset. */
  onMoved(listener: () => void): void;
};

/** Each node's clock within ±`nodeSkewMs`: both extremes occur, so that a skew shows in full. */
const NODE_SKEWS = [-1, -0.4, 0.3, 1] as const;

export function createClock(deps: { now: () => number; random: Random; offsetMs?: number }): Clock {
  const listeners: (() => void)[] = [];
  let offsetMs = deps.offsetMs ?? 0;
  let advancedMs = 0;
  const moved = (): void => {
    for (const listener of listeners) listener();
  };

  const clock: Clock = {
    get offsetMs() {
      return offsetMs;
    },
    set offsetMs(ms) {
      offsetMs = ms;
      moved();
    },
    nodeSkewMs: 0,
    advance: (ms) => {
      advancedMs += ms;
      moved();
    },
    onMoved: (listener) => {
      listeners.push(listener);
    },
    baseNow: () => deps.now() + advancedMs,
    now: () => Math.round(deps.now() + advancedMs + offsetMs),
    stamp: () =>
      clock.nodeSkewMs === 0
        ? clock.now()
        : clock.now() + Math.round(deps.random.pick(NODE_SKEWS) * clock.nodeSkewMs),
  };
  return clock;
}
