/**
 * The clock of the merge rules: whole epoch ms, monotone, kept across restarts, close to the wall clock
 * (docs/architecture.md#own-clock). The receiver keeps it; the mirror follows it (src/mirror/following-clock.ts).
 */
import type { HostTime } from './host-time.ts';

/** Where the clock stood at an instant. */
export interface ClockReading {
  readonly clockMs: number;
  readonly sinceBootMs: number;
  readonly bootId: string | null;
}

/** Largest share of the elapsed time by which the clock runs faster or slower to approach the wall clock. */
export const SLEW = 0.1;
/**
 * Longest time for which one approach may slew: after a process hung or was suspended, the clock still moves in
 * small steps.
 */
const SLEW_WITHIN_MS = 2_000;
/** A wall clock further ahead was set, and is followed at once. */
const JUMP_MS = 2_000;
/** How often a reading is to be kept. */
export const READING_EVERY_MS = 1_000;
/** A clock further ahead of the wall clock was wrong: it steps back, and everything that it stamped is void. */
export const MOST_AHEAD_MS = 60_000;

type Clocks = Omit<HostTime, 'monotonicMs'>;

export class OwnClock {
  readonly #host: Clocks;
  /** The clock's reading at the machine's boot. */
  #baseMs: number;
  #lastMs: number;
  #slewedAtMs: number;

  /** @param last the last reading kept, of this boot or an earlier one. */
  constructor(host: Clocks, last: ClockReading | null) {
    const atMs = host.sinceBootMs();
    const isSameBoot = last !== null && last.bootId !== null && last.bootId === host.bootId;
    // After a boot, only the last reading is known, and it may be that old.
    const elapsedMs = isSameBoot ? Math.max(0, atMs - last.sinceBootMs) : READING_EVERY_MS;
    const keptMs = last === null ? Number.NEGATIVE_INFINITY : last.clockMs + elapsedMs;
    const wallMs = Math.round(host.wallMs());
    const startMs = keptMs > wallMs + MOST_AHEAD_MS ? wallMs : Math.max(keptMs, wallMs);
    this.#host = host;
    this.#baseMs = startMs - atMs;
    this.#lastMs = startMs;
    this.#slewedAtMs = atMs;
  }

  /** Epoch ms; never less than before, but for a step back by `approach`. */
  readonly now = (): number => {
    this.#lastMs = Math.max(this.#lastMs, this.#baseMs + this.#host.sinceBootMs());
    return this.#lastMs;
  };

  /**
   * Approaches the wall clock. Call it about once a second.
   * @returns by how much it stepped back, 0 unless it was more than `MOST_AHEAD_MS` ahead.
   */
  approach(): number {
    const atMs = this.#host.sinceBootMs();
    const elapsedMs = Math.min(SLEW_WITHIN_MS, atMs - this.#slewedAtMs);
    this.#slewedAtMs = atMs;
    const aheadMs = this.#baseMs + atMs - Math.round(this.#host.wallMs());
    if (aheadMs > MOST_AHEAD_MS) {
      this.#baseMs -= aheadMs;
      this.#lastMs = this.#baseMs + atMs;
      return aheadMs;
    }
    if (aheadMs < -JUMP_MS) this.#baseMs -= aheadMs;
    else {
      const mostMs = Math.floor(elapsedMs * SLEW);
      this.#baseMs -= Math.max(-mostMs, Math.min(mostMs, aheadMs));
    }
    return 0;
  }

  /** A clock that stands still after a slew back is shown behind `now`, where it continues. */
  reading(): ClockReading {
    const sinceBootMs = this.#host.sinceBootMs();
    return { clockMs: this.#baseMs + sinceBootMs, sinceBootMs, bootId: this.#host.bootId };
  }
}
