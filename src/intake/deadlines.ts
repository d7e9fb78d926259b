/** Deadlines that are nearly all alike and nearly all met: one timer for all of them, not one for each. */
import { Slots } from '../platform/slots.ts';

interface Deadline {
  /** The deadline is met. */
  cancel(): void;
}

interface Pending {
  readonly atMs: number;
  readonly onPass: () => void;
  isOver: boolean;
}

export class Deadlines {
  readonly #pending = new Slots<Pending>();
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  after(ms: number, onPass: () => void): Deadline {
    const deadline: Pending = { atMs: performance.now() + ms, onPass, isOver: false };
    const slot = this.#pending.put(deadline);
    if (deadline.atMs < this.#timerAtMs) this.#wakeAt(deadline.atMs);
    return { cancel: () => this.#end(deadline, slot) };
  }

  #end(deadline: Pending, slot: number): void {
    if (deadline.isOver) return;
    deadline.isOver = true;
    this.#pending.take(slot);
  }

  #wakeAt(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    // First comes what arrived while this thread was busy: it may meet the deadline.
    this.#timer = setTimeout(() => setImmediate(() => this.#pass()), Math.max(0, atMs - performance.now()));
    this.#timer.unref();
  }

  #pass(): void {
    const nowMs = performance.now();
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (const [slot, deadline] of this.#pending.entries()) {
      // A timer may wake a fraction of a millisecond early.
      if (deadline.atMs > nowMs + 1) {
        nextAtMs = Math.min(nextAtMs, deadline.atMs);
        continue;
      }
      this.#end(deadline, slot);
      deadline.onPass();
    }
    this.#timerAtMs = nextAtMs;
    if (nextAtMs < Number.POSITIVE_INFINITY) this.#wakeAt(nextAtMs);
  }
}
