/** Lets virtual time pass until something has happened. */
import { describe, type Report } from './report.ts';
import type { VirtualTime } from './virtual-time.ts';

const ORDER_WITHIN_MS = 60_000;

export class Waiting {
  readonly #time: VirtualTime;
  readonly #report: Report;

  constructor(time: VirtualTime, report: Report) {
    this.#time = time;
    this.#report = report;
  }

  /** Ends early at a fault. @returns whether it happened; if not, that is a fault, too. */
  async until(what: string, withinMs: number, isDone: () => boolean, everyMs = 200): Promise<boolean> {
    if (await this.happens(withinMs, isDone, everyMs)) return true;
    if (!this.#report.hasFault) this.#report.fault(`waited in vain for ${what}`);
    return false;
  }

  /** @returns whether it happened. */
  async happens(withinMs: number, isDone: () => boolean, everyMs: number): Promise<boolean> {
    const untilMs = this.#time.nowMs + withinMs;
    while (this.#time.nowMs < untilMs && !this.#report.hasFault) {
      if (isDone()) return true;
      await this.pass(everyMs);
    }
    return isDone();
  }

  async pass(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.nowMs + ms, () => this.#report.hasFault);
  }

  async carriedOut(order: Promise<unknown>): Promise<void> {
    let isDone = false;
    order.then(
      () => (isDone = true),
      (error: unknown) => {
        isDone = true;
        this.#report.fault(describe(error));
      },
    );
    await this.until('an order to be carried out', ORDER_WITHIN_MS, () => isDone, 100);
  }
}
