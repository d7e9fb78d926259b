/** Virtual time: one ordered queue of all events. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from '../../src/sqlite/open.ts';
import { present } from '../shared/present.ts';

/** A process whose events end with it and pause while it is stopped. */
export interface Life {
  readonly alive: boolean;
  standsStillUntilMs: number;
  readonly death: Promise<void>;
  end(): void;
}

export function newLife(): Life {
  const death = Promise.withResolvers<void>();
  const life = {
    alive: true,
    standsStillUntilMs: 0,
    death: death.promise,
    end: () => {
      life.alive = false;
      death.resolve();
    },
  };
  return life;
}

export const WORLD: Life = newLife();

export interface Scheduled {
  cancelled: boolean;
}

interface Event extends Scheduled {
  readonly atMs: number;
  readonly order: number;
  readonly life: Life;
  readonly action: () => void;
}

const immediate = setImmediate;

export class VirtualTime {
  #nowMs: number;
  #order = 0;
  readonly #heap: Event[] = [];
  /** Events so far: a fingerprint of the run together with what they did. */
  steps = 0;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  at(atMs: number, life: Life, action: () => void): Scheduled {
    this.#order += 1;
    const event: Event = {
      atMs: Math.max(atMs, this.#nowMs),
      order: this.#order,
      life,
      // On the host that scheduled it.
      action: AsyncLocalStorage.bind(action),
      cancelled: false,
    };
    this.#push(event);
    return event;
  }

  after(ms: number, life: Life, action: () => void): Scheduled {
    return this.at(this.#nowMs + ms, life, action);
  }

  sleep(ms: number, life: Life = WORLD): Promise<void> {
    return new Promise((resolve) => void this.after(ms, life, resolve));
  }

  async runUntil(untilMs: number, done: () => boolean = () => false): Promise<boolean> {
    await settled();
    for (;;) {
      if (done()) return true;
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#pop();
      if (next.cancelled || !next.life.alive) continue;
      if (next.life.standsStillUntilMs > next.atMs) {
        this.at(next.life.standsStillUntilMs, next.life, next.action);
        continue;
      }
      this.#nowMs = next.atMs;
      this.steps += 1;
      next.action();
      await settled();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    return false;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    heap.push(event);
    for (let i = heap.length - 1; i > 0;) {
      const parent = (i - 1) >> 1;
      if (!isBefore(present(heap[i]), present(heap[parent]))) return;
      [heap[i], heap[parent]] = [present(heap[parent]), present(heap[i])];
      i = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = present(heap.pop());
    if (heap.length === 0) return;
    heap[0] = last;
    for (let i = 0; ;) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < heap.length && isBefore(present(heap[child]), present(heap[least]))) least = child;
      }
      if (least === i) return;
      [heap[i], heap[least]] = [present(heap[least]), present(heap[i])];
      i = least;
    }
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs;
}

/** Waits until no promise or tick of Node is pending. Twice, because a promise may schedule a turn of the loop. */
function settled(): Promise<void> {
  return new Promise((resolve) => void immediate(() => void immediate(resolve)));
}

/** Views compare the heartbeat with `julianday('now')`. */
export function onVirtualTime(db: Db): void {
  const UNIX_EPOCH_DAYS = 2_440_587.5;
  const DAY_MS = 86_400_000;
  db.function('julianday', { varargs: true }, () => Date.now() / DAY_MS + UNIX_EPOCH_DAYS);
}
