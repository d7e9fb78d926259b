/** Whether re-read requests come faster than reads meet them: more products wait to be read, minute after minute. */

const MINUTE_MS = 60_000;
/** So many minutes in a row, each of which never fell to what the one before it had at least. */
const MINUTES = 5;

interface BacklogSight {
  readonly pendingReads: number;
  /** Whether the store is being read; a pause of the reads is another thing. */
  readonly isReading: boolean;
}

export class GrowingBacklog {
  #minute: { readonly number: number; least: number } | null = null;
  /** The fewest of the last whole minute. */
  #before: number | null = null;
  #growing: { readonly sinceMs: number; minutes: number } | null = null;

  /** Since when it grows; null: it does not. */
  get sinceMs(): number | null {
    return this.#growing !== null && this.#growing.minutes >= MINUTES ? this.#growing.sinceMs : null;
  }

  look({ pendingReads, isReading }: BacklogSight, nowMs: number): void {
    if (!isReading) {
      this.#minute = this.#before = this.#growing = null;
      return;
    }
    const number = Math.floor(nowMs / MINUTE_MS);
    if (this.#minute?.number === number) {
      this.#minute.least = Math.min(this.#minute.least, pendingReads);
      return;
    }
    if (this.#minute !== null) this.#close(this.#minute.least, nowMs);
    this.#minute = { number, least: pendingReads };
  }

  #close(least: number, nowMs: number): void {
    const grows = this.#before !== null && least > this.#before;
    this.#before = least;
    if (!grows) this.#growing = null;
    else if (this.#growing === null) this.#growing = { sinceMs: nowMs - MINUTE_MS, minutes: 1 };
    else this.#growing.minutes += 1;
  }
}
