import type { Clock, Timers } from './clock.ts';

interface Entry {
  readonly dueMs: number;
  readonly now: () => number;
  readonly action: () => void;
}

/** The longest wait of a platform timer; later entries wait in several steps. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** What the store will do by itself later. */
export class Agenda {
  readonly #clock: Clock;
  readonly #timers: Timers;
  #entries: Entry[] = [];
  #timer: unknown;

  constructor({ clock, timers }: { readonly clock: Clock; readonly timers: Timers }) {
    this.#clock = clock;
    this.#timers = timers;
    clock.onMoved(() => {
      this.#runDue();
    });
  }

  /** When the store's clock shows `atMs`; stepping that clock moves it. */
  at(atMs: number, action: () => void): void {
    this.#add({ dueMs: atMs, now: () => this.#clock.now(), action });
  }

  /** After a duration, regardless of clock steps. */
  after(ms: number, action: () => void): void {
    this.#add({ dueMs: this.#clock.baseNow() + ms, now: () => this.#clock.baseNow(), action });
  }

  /** Moves time ahead at once. Entries due by then run in order, each at its own time. */
  advance(ms: number): void {
    let leftMs = ms;
    do {
      const stepMs = Math.min(leftMs, Math.max(0, this.#next()?.inMs ?? leftMs));
      this.#clock.advance(stepMs);
      leftMs -= stepMs;
    } while (leftMs > 0);
  }

  stop(): void {
    this.#timers.clearTimeout(this.#timer);
    this.#entries = [];
  }

  /** The earliest entry; of several due at one instant, the one added first. */
  #next(): { readonly entry: Entry; readonly inMs: number } | undefined {
    return this.#entries
      .map((entry) => ({ entry, inMs: entry.dueMs - entry.now() }))
      .reduce<{ entry: Entry; inMs: number } | undefined>(
        (first, each) => (first === undefined || each.inMs < first.inMs ? each : first),
        undefined,
      );
  }

  #add(entry: Entry): void {
    this.#entries.push(entry);
    // Even an entry that is already due waits for a timer, so that it runs after its caller, not within it.
    this.#arm();
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
      this.#entries.splice(this.#entries.indexOf(next.entry), 1);
      next.entry.action();
    }
    this.#arm();
  }
}
