import type { Clock, Timers } from './clock.ts';

/** What the store will do by itself later. */
export type Agenda = {
  /** When the store's clock shows `atMs`; stepping that clock moves it. */
  at(atMs: number, action: () => void): void;
  /** After a duration, regardless of clock steps. */
  after(ms: number, action: () => void): void;
  /** Moves time ahead at once. What is due by then happens in order, each at its own time. */
  advance(ms: number): void;
  /** Nothing more happens. */
  stop(): void;
};

type Queue = { readonly now: () => number; readonly entries: { dueMs: number; action: () => void }[] };

/** The longest wait of a platform timer; later entries wait in several steps. */
const LONGEST_TIMER_MS = 2_147_483_647;

export function createAgenda(deps: { clock: Clock; timers: Timers }): Agenda {
  const { clock, timers } = deps;
  const byTime: Queue = { now: () => clock.now(), entries: [] };
  const byAge: Queue = { now: () => clock.baseNow(), entries: [] };
  let timer: unknown;

  /** The queue with the next entry, and the time until then. */
  const next = (): { queue: Queue; inMs: number } | undefined =>
    [byTime, byAge]
      .filter(({ entries }) => entries.length > 0)
      .map((queue) => ({ queue, inMs: queue.entries[0]!.dueMs - queue.now() }))
      .sort((a, b) => a.inMs - b.inMs)[0];

  const arm = (): void => {
    timers.clearTimeout(timer);
    const first = next();
    if (first === undefined) return;
    timer = timers.setTimeout(runDue, Math.min(Math.max(0, first.inMs), LONGEST_TIMER_MS));
  };
  const runDue = (): void => {
    let first = next();
    for (; first !== undefined && first.inMs <= 0; first = next()) first.queue.entries.shift()!.action();
    arm();
  };
  clock.onMoved(runDue);

  const add = ({ entries }: Queue, dueMs: number, action: () => void): void => {
    // Entries of one instant keep the order in which they were added.
    const index = entries.findLastIndex((entry) => entry.dueMs <= dueMs) + 1;
    entries.splice(index, 0, { dueMs, action });
    // Even an entry that is already due waits for a timer, so that it runs after its caller, not within it.
    arm();
  };

  return {
    at: (atMs, action) => {
      add(byTime, atMs, action);
    },
    after: (ms, action) => {
      add(byAge, byAge.now() + ms, action);
    },
    advance: (ms) => {
      let leftMs = ms;
      do {
        const stepMs = Math.min(leftMs, Math.max(0, next()?.inMs ?? leftMs));
        clock.advance(stepMs);
        leftMs -= stepMs;
      } while (leftMs > 0);
    },
    stop: () => {
      timers.clearTimeout(timer);
      byTime.entries.length = 0;
      byAge.entries.length = 0;
    },
  };
}
