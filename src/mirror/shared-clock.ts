/**
 * The receiver's clock in the mirror's process (docs/architecture.md#own-clock). Reads are stamped by it and deliveries by
 * the receiver's, so it is never ahead of that one.
 */
import { baseOf, type ClockHost, type ClockReading } from '../platform/own-clock.ts';

/** Two processes round the time since the boot differently. */
const ROUNDING_MS = 20;

export class SharedClock {
  readonly #host: ClockHost;
  /** null until a receiver of this boot has chosen it: the wall clock counts, and nothing may be read. */
  #baseMs: number | null = null;
  #lastMs: number;

  /** @param last the receiver's last reading, of this boot or an earlier one; null before its first. */
  constructor(host: ClockHost, last: ClockReading | null) {
    this.#host = host;
    this.#baseMs = baseOf(host, last);
    this.#lastMs = this.#baseMs === null && last !== null ? last.clockMs : Number.NEGATIVE_INFINITY;
  }

  /** Otherwise a read could seem later than a delivery that it did not see. */
  get mayRead(): boolean {
    return this.#baseMs !== null;
  }

  /** Epoch ms; never less than before, but for a step back by `follow`. */
  readonly now = (): number => {
    this.#lastMs = Math.max(this.#lastMs, this.#reachedMs());
    return this.#lastMs;
  };

  /**
   * Takes over the base of the receiver's last reading. Call it about once a second. @param reading null while the inbox
   * cannot be read.
   * @returns whether the clock stepped back: everything that it stamped is void.
   */
  follow(reading: ClockReading | null): boolean {
    const baseMs = baseOf(this.#host, reading);
    if (baseMs === null || baseMs === this.#baseMs) return false;
    this.#baseMs = baseMs;
    const isBack = this.#reachedMs() < this.#lastMs - ROUNDING_MS;
    if (isBack) this.#lastMs = this.#reachedMs();
    return isBack;
  }

  #reachedMs(): number {
    if (this.#baseMs === null) return Math.round(this.#host.wallMs());
    return this.#baseMs + this.#host.sinceBootMs() - ROUNDING_MS;
  }
}
