import type { Timers } from './clock.ts';

export type Pending = {
  /** Runs `action` after `ms`. Returns a function that cancels it. */
  after(ms: number, action: () => unknown): () => void;
  track<T>(work: Promise<T>): Promise<T>;
  /** Resolves when nothing waits or runs, including what starts in the meantime. */
  idle(): Promise<void>;
  /** Runs everything that waits now, in its planned order. */
  hurry(): void;
  /** Drops everything that waits. */
  cancel(): void;
};

/** Keeps track of delayed actions, so that a test can wait for their end instead of sleeping. */
export function createPending(timers: Timers): Pending {
  type Waiting = { dueIn: number; handle: unknown; action: () => unknown };
  const waiting = new Set<Waiting>();
  let running = 0;
  let quiet: (() => void)[] = [];

  const check = (): void => {
    if (running > 0 || waiting.size > 0) return;
    const resolvers = quiet;
    quiet = [];
    for (const resolve of resolvers) resolve();
  };
  const forget = (entry: Waiting): boolean => {
    timers.clearTimeout(entry.handle);
    return waiting.delete(entry);
  };
  const run = (entry: Waiting): void => {
    if (!forget(entry)) return;
    entry.action();
    check();
  };

  return {
    after: (ms, action) => {
      const entry: Waiting = { dueIn: ms, handle: undefined, action };
      waiting.add(entry);
      entry.handle = timers.setTimeout(() => {
        run(entry);
      }, ms);
      return () => {
        forget(entry);
        check();
      };
    },
    track: (work) => {
      running += 1;
      return work.finally(() => {
        running -= 1;
        check();
      });
    },
    idle: () =>
      new Promise((resolve) => {
        quiet.push(resolve);
        check();
      }),
    hurry: () => {
      for (const entry of [...waiting].sort((a, b) => a.dueIn - b.dueIn)) run(entry);
    },
    cancel: () => {
      for (const entry of [...waiting]) forget(entry);
      check();
    },
  };
}
