/**
 * The clock of the merge rules: whole epoch ms, fixed for a boot of the machine (docs/architecture.md#own-clock). The
 * receiver chooses its base once after a boot; every other process reads it from the inbox.
 */
import type { HostTime } from './host-time.ts';

/** Where the clock stood at an instant. */
export interface ClockReading {
  readonly clockMs: number;
  readonly sinceBootMs: number;
  readonly bootId: string | null;
}

export type ClockHost = Pick<HostTime, 'wallMs' | 'sinceBootMs' | 'bootId'>;

/** How often a reading is kept: after a boot, the last one may be that old. */
export const READING_EVERY_MS = 1_000;
/** A wall clock further ahead was set, or the machine stood still with all of its clocks. */
const MOST_BEHIND_MS = 2_000;
/** A clock further ahead of the wall clock was wrong: everything that it stamped is void. */
const MOST_AHEAD_MS = 60_000;

export class OwnClock {
  readonly #host: ClockHost;
  /** The clock's reading at the machine's boot. */
  #baseMs: number;

  /** @param last the last reading kept, of this boot or an earlier one. */
  constructor(host: ClockHost, last: ClockReading | null) {
    this.#host = host;
    this.#baseMs = baseOf(host, last) ?? chosenBase(host, last);
  }

  /** Epoch ms; never less than before, but for a step back by `check`. */
  readonly now = (): number => this.#baseMs + this.#host.sinceBootMs();

  /**
   * Chooses the base again if the wall clock contradicts it. Call it about once a second.
   * @returns by how much the clock has stepped, 0 if it has not.
   */
  check(): number {
    const wallMs = Math.round(this.#host.wallMs());
    const stepMs = wallMs - this.now();
    if (stepMs <= MOST_BEHIND_MS && stepMs >= -MOST_AHEAD_MS) return 0;
    this.#baseMs += stepMs;
    return stepMs;
  }

  reading(): ClockReading {
    const sinceBootMs = this.#host.sinceBootMs();
    return { clockMs: this.#baseMs + sinceBootMs, sinceBootMs, bootId: this.#host.bootId };
  }
}

/** The base that a receiver of this boot has chosen; null if none has. */
export function baseOf(host: ClockHost, last: ClockReading | null): number | null {
  if (last === null || last.bootId !== host.bootId) return null;
  // On a system that does not name its boots, a later boot shows only by a shorter time since then.
  if (last.sinceBootMs > host.sinceBootMs()) return null;
  return last.clockMs - last.sinceBootMs;
}

/** The wall clock, or a second after the last reading if that is later and not too far ahead. */
function chosenBase(host: ClockHost, last: ClockReading | null): number {
  const wallMs = Math.round(host.wallMs());
  const keptMs = last === null ? Number.NEGATIVE_INFINITY : last.clockMs + READING_EVERY_MS;
  const startMs = keptMs > wallMs + MOST_AHEAD_MS ? wallMs : Math.max(keptMs, wallMs);
  return startMs - host.sinceBootMs();
}
