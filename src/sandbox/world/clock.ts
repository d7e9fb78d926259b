import type { Random } from './random.ts';

/** The platform timers that the sandbox uses, so that a test can control time. */
export interface Timers {
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

export const systemTimers: Timers = {
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (handle) => {
    clearTimeout(handle as NodeJS.Timeout);
  },
};

interface ClockDeps {
  readonly now: () => number;
  readonly random: Random;
  readonly offsetMs: number;
}

/** Each node's clock within ±`nodeSkewMs`: both extremes occur, so that a skew shows in full. */
const NODE_SKEWS = [-1, -0.4, 0.3, 1] as const;

/** The clocks of the store, which faults can put wrong. */
export class Clock {
  /** Largest difference between a node's clock and `now()`. 0: every node agrees. */
  nodeSkewMs = 0;
  readonly #deps: ClockDeps;
  readonly #listeners: (() => void)[] = [];
  #offsetMs: number;
  #advancedMs = 0;

  constructor(deps: ClockDeps) {
    this.#deps = deps;
    this.#offsetMs = deps.offsetMs;
  }

  /** How far the store's clock is from the base clock. Set it at any time to step the clock. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  set offsetMs(ms: number) {
    this.#offsetMs = ms;
    this.#moved();
  }

  /** The store's time: the base clock plus the offset. Epoch ms. */
  now(): number {
    return Math.round(this.baseNow() + this.#offsetMs);
  }

  /**
   * The base clock, without the offset: for durations and ages, which a stepped clock must not stretch. Moving time
   * ahead with `advance` does count.
   */
  baseNow(): number {
    return this.#deps.now() + this.#advancedMs;
  }

  /** The `update_time` that a node of the store gives a change made now. */
  stamp(): number {
    if (this.nodeSkewMs === 0) return this.now();
    return this.now() + Math.round(this.#deps.random.pick(NODE_SKEWS) * this.nodeSkewMs);
  }

  /** Moves both clocks ahead at once: after four hours, a token has expired. */
  advance(ms: number): void {
    this.#advancedMs += ms;
    this.#moved();
  }

  /** Calls the listener when a clock is moved by `advance` or by setting the offset. */
  onMoved(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #moved(): void {
    for (const listener of this.#listeners) listener();
  }
}
