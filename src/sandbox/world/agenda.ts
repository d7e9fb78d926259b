import type { Clock, Timers } from './clock.ts';

interface AgendaDeps {
  readonly clock: Clock;
  readonly timers: Timers;
}

interface Entry {
  readonly dueMs: number;
  readonly action: () => void;
}

interface Queue {
  readonly now: () => number;
  readonly entries: Entry[];
}

interface Next {
  readonly queue: Queue;
  readonly entry: Entry;
  readonly inMs: number;
}

/** The longest wait of a platform timer; later entries wait in several steps. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** What the store will do by itself later. */
export class Agenda {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #byTime: Queue;
  readonly #byAge: Queue;
  #timer: unknown;

  constructor({ clock, timers }: AgendaDeps) {
    this.#clock = clock;
    this.#timers = timers;
    this.#byTime = { now: () => clock.now(), entries: [] };
    this.#byAge = { now: () => clock.baseNow(), entries: [] };
    clock.onMoved(() => {
      this.#runDue();
    });
  }

  /** When the store's clock shows `atMs`; stepping that clock moves it. */
  at(atMs: number, action: () => void): void {
    this.#add(this.#byTime, { dueMs: atMs, action });
  }

  /** After a duration, regardless of clock steps. */
  after(ms: number, action: () => void): void {
    this.#add(this.#byAge, { dueMs: this.#byAge.now() + ms, action });
  }

  /** Moves time ahead at once. What is due by then happens in order, each at its own time. */
  advance(ms: number): void {
    let leftMs = ms;
    do {
      const stepMs = Math.min(leftMs, Math.max(0, this.#next()?.inMs ?? leftMs));
      this.#clock.advance(stepMs);
      leftMs -= stepMs;
    } while (leftMs > 0);
  }

  /** Nothing more happens. */
  stop(): void {
    this.#timers.clearTimeout(this.#timer);
    this.#byTime.entries.length = 0;
    this.#byAge.entries.length = 0;
  }

  /** The next entry, and the time until then. */
  #next(): Next | undefined {
    return [this.#byTime, this.#byAge]
      .flatMap((queue): Next[] => {
        const [entry] = queue.entries;
        return entry === undefined ? [] : [{ queue, entry, inMs: entry.dueMs - queue.now() }];
      })
      .sort((a, b) => a.inMs - b.inMs)[0];
  }

  #arm(): void {
    this.#timers.clearTimeout(this.#timer);
    const next = this.#next();
    if (next === undefined) return;
    const waitMs = Math.min(Math.max(0, next.inMs), LONGEST_TIMER_MS);
    this.#timer = this.#timers.setTimeout(() => {
      this.#runDue();
    }, waitMs);
  }

  #runDue(): void {
    for (let next = this.#next(); next !== undefined && next.inMs <= 0; next = this.#next()) {
      next.queue.entries.shift();
      next.entry.action();
    }
    this.#arm();
  }

  #add({ entries }: Queue, entry: Entry): void {
    // Entries of one instant keep the order in which they were added.
    const index = entries.findLastIndex(({ dueMs }) => dueMs <= entry.dueMs) + 1;
    entries.splice(index, 0, entry);
    // Even an entry that is already due waits for a timer, so that it runs after its caller, not within it.
    this.#arm();
  }
}
