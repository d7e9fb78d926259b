import type { Timers } from '../world/clock.ts';

interface Waiting {
  readonly dueIn: number;
  handle: unknown;
  readonly action: () => unknown;
}

/** Keeps track of delayed actions, so that a test can wait for their end instead of sleeping. */
export class Pending {
  readonly #timers: Timers;
  readonly #waiting = new Set<Waiting>();
  #running = 0;
  #quiet: (() => void)[] = [];

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Runs `action` after `ms`. Returns a function that cancels it. */
  after(ms: number, action: () => unknown): () => void {
    const entry: Waiting = { dueIn: ms, handle: undefined, action };
    this.#waiting.add(entry);
    entry.handle = this.#timers.setTimeout(() => {
      this.#run(entry);
    }, ms);
    return () => {
      this.#forget(entry);
      this.#check();
    };
  }

  track<T>(work: Promise<T>): Promise<T> {
    this.#running += 1;
    return work.finally(() => {
      this.#running -= 1;
      this.#check();
    });
  }

  /** Resolves when nothing waits or runs, including what starts in the meantime. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#quiet.push(resolve);
      this.#check();
    });
  }

  /** Runs everything that waits now, in its planned order. */
  hurry(): void {
    for (const entry of [...this.#waiting].sort((a, b) => a.dueIn - b.dueIn)) this.#run(entry);
  }

  /** Drops everything that waits. */
  cancel(): void {
    for (const entry of [...this.#waiting]) this.#forget(entry);
    this.#check();
  }

  #run(entry: Waiting): void {
    if (!this.#forget(entry)) return;
    entry.action();
    this.#check();
  }

  #forget(entry: Waiting): boolean {
    this.#timers.clearTimeout(entry.handle);
    return this.#waiting.delete(entry);
  }

  #check(): void {
    if (this.#running > 0 || this.#waiting.size > 0) return;
    const resolvers = this.#quiet;
    this.#quiet = [];
    for (const resolve of resolvers) resolve();
  }
}
