import type { Random } from './random.ts';

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
  readonly timers: Timers;
  readonly random: Random;
  readonly offsetMs: number;
}

const NODE_SKEWS = [-1, -0.4, 0.3, 1] as const;
/** The limit of Node's timers, which replace longer times by 1 ms. */
const LONGEST_TIMER_MS = 2_147_483_647;

export class Clock {
  /** Largest difference between a node's clock and `now()`. */
  nodeSkewMs = 0;
  /** Setting it steps the store's clock. */
  offsetMs: number;
  readonly #deps: ClockDeps;
  readonly #pending = new Set<unknown>();

  constructor(deps: ClockDeps) {
    this.#deps = deps;
    this.offsetMs = deps.offsetMs;
  }

  now(): number {
    return Math.round(this.baseNow() + this.offsetMs);
  }

  baseNow(): number {
    return this.#deps.now();
  }

  stamp(): number {
    if (this.nodeSkewMs === 0) return this.now();
    return this.now() + Math.round(this.#deps.random.pick(NODE_SKEWS) * this.nodeSkewMs);
  }

  /** Runs `action` after `ms` of the base clock, never within the call. @returns a function that cancels it. */
  after(ms: number, action: () => void): () => void {
    const timer = this.#deps.timers.setTimeout(
      () => {
        this.#pending.delete(timer);
        action();
      },
      Math.min(Math.max(0, ms), LONGEST_TIMER_MS),
    );
    this.#pending.add(timer);
    return () => {
      this.#drop(timer);
    };
  }

  stop(): void {
    for (const timer of this.#pending) this.#drop(timer);
  }

  #drop(timer: unknown): void {
    this.#deps.timers.clearTimeout(timer);
    this.#pending.delete(timer);
  }
}
