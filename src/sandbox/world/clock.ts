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
  readonly timers: Timers;
  readonly random: Random;
  readonly offsetMs: number;
}

interface Task {
  /** Base clock. */
  readonly dueMs: number;
  readonly run: () => void;
  timer: unknown;
}

/** Each node's clock within ±`nodeSkewMs`: both extremes occur, so that a skew shows in full. */
const NODE_SKEWS = [-1, -0.4, 0.3, 1] as const;
/** A platform timer waits no longer; later tasks wait in several steps. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The clocks of the store, which faults can put wrong, and what the store will do later. */
export class Clock {
  /** Largest difference between a node's clock and `now()`. 0: every node agrees. */
  nodeSkewMs = 0;
  /** How far the store's clock is from the base clock. Set it at any time to step the clock. */
  offsetMs: number;
  readonly #deps: ClockDeps;
  readonly #tasks = new Set<Task>();
  #advancedMs = 0;

  constructor(deps: ClockDeps) {
    this.#deps = deps;
    this.offsetMs = deps.offsetMs;
  }

  /** The store's time: the base clock plus the offset. Epoch ms. */
  now(): number {
    return Math.round(this.baseNow() + this.offsetMs);
  }

  /** The base clock, without the offset: for durations and ages, which a stepped clock must not stretch. */
  baseNow(): number {
    return this.#deps.now() + this.#advancedMs;
  }

  /** The `update_time` that a node of the store gives a change made now. */
  stamp(): number {
    if (this.nodeSkewMs === 0) return this.now();
    return this.now() + Math.round(this.#deps.random.pick(NODE_SKEWS) * this.nodeSkewMs);
  }

  /** Runs `action` after `ms` of the base clock, never within the call. Returns a function that cancels it. */
  after(ms: number, action: () => void): () => void {
    const task: Task = {
      dueMs: this.baseNow() + ms,
      run: () => {
        this.#drop(task);
        action();
      },
      timer: undefined,
    };
    this.#tasks.add(task);
    this.#arm(task, ms);
    return () => {
      this.#drop(task);
    };
  }

  /** Moves both clocks ahead at once. Tasks due by then run in order, each at its own time. */
  advance(ms: number): void {
    let leftMs = ms;
    for (;;) {
      const next = [...this.#tasks].reduce<Task | undefined>(
        (first, task) => (first === undefined || task.dueMs < first.dueMs ? task : first),
        undefined,
      );
      const stepMs = Math.min(leftMs, Math.max(0, (next?.dueMs ?? Infinity) - this.baseNow()));
      this.#advancedMs += stepMs;
      leftMs -= stepMs;
      if (next === undefined || next.dueMs > this.baseNow()) break;
      next.run();
    }
    for (const task of this.#tasks) this.#arm(task, task.dueMs - this.baseNow());
  }

  /** Forgets what is due later. */
  stop(): void {
    for (const task of this.#tasks) this.#drop(task);
  }

  #arm(task: Task, ms: number): void {
    const { timers } = this.#deps;
    timers.clearTimeout(task.timer);
    const isLong = ms > LONGEST_TIMER_MS;
    task.timer = timers.setTimeout(
      () => {
        if (isLong) this.#arm(task, task.dueMs - this.baseNow());
        else task.run();
      },
      isLong ? LONGEST_TIMER_MS : Math.max(0, ms),
    );
  }

  #drop(task: Task): void {
    this.#deps.timers.clearTimeout(task.timer);
    this.#tasks.delete(task);
  }
}
