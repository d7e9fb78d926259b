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

interface Task {
  readonly dueMs: number;
  readonly run: () => void;
  timer: unknown;
}

const NODE_SKEWS = [-1, -0.4, 0.3, 1] as const;
/** The limit of Node's timers; later tasks wait in several steps. */
const LONGEST_TIMER_MS = 2_147_483_647;

export class Clock {
  /** Largest difference between a node's clock and `now()`. */
  nodeSkewMs = 0;
  /** Setting it steps the store's clock. */
  offsetMs: number;
  readonly #deps: ClockDeps;
  readonly #tasks = new Set<Task>();

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
