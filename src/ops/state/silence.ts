/** Compares silence with the same hours of earlier days: no fixed limit fits all stores, day and night. */
import type { NotedMinute } from '../../mirror/queries/overview.ts';
import { SlotCounts } from './slot-counts.ts';

const MIN_SILENCE_MS = 15 * 60_000;
/** Limit while no earlier day is known. */
const UNKNOWN_SILENCE_MS = 12 * 60 * 60_000;
const DAYS_COMPARED = 7;
/** For independent deliveries at this rate, silence has a probability of exp(-20), 2 in 10^9. */
const TOO_MANY_TO_MISS = 20;

const MINUTE_MS = 60_000;
const SLOT_MS = 5 * MINUTE_MS;
const DAY_MS = 24 * 60 * 60_000;
/** One more day than is compared, so that a silence of a day is still compared with full days. */
const SLOTS = ((DAYS_COMPARED + 1) * DAY_MS) / SLOT_MS;
/** Cap for one slot: a bulk edit makes hundreds of deliveries at once, which says little about the usual rate. */
const BURST = 10;

export class DeliveryHistory {
  readonly #counts = new SlotCounts(SLOT_MS, SLOTS);
  #knownFromMs: number;

  constructor(nowMs: number) {
    this.#knownFromMs = nowMs;
  }

  count(atMs: number, deliveries = 1): void {
    this.#counts.add(atMs, deliveries);
  }

  /** Adds what earlier processes noted. */
  learn(minutes: readonly NotedMinute[]): void {
    for (const { minute, values } of minutes) {
      const atMs = minute * MINUTE_MS;
      this.#knownFromMs = Math.min(this.#knownFromMs, atMs);
      this.#counts.add(atMs, values['deliveries'] ?? 0);
    }
  }

  /** true if most known days, and the same weekday if known, had many deliveries in the hours of this silence. */
  isSilenceUnusual(sinceMs: number, nowMs: number): boolean {
    if (nowMs - sinceMs < MIN_SILENCE_MS) return false;
    const isBusy = Array.from({ length: DAYS_COMPARED }, (_, i) => this.#wasBusy(sinceMs, nowMs, i + 1));
    const known = isBusy.filter((busy) => busy !== null);
    if (known.length === 0) return nowMs - sinceMs >= UNKNOWN_SILENCE_MS;
    return isBusy.at(-1) !== false && known.filter(Boolean).length * 2 > known.length;
  }

  #wasBusy(fromMs: number, toMs: number, daysAgo: number): boolean | null {
    const shiftMs = daysAgo * DAY_MS;
    if (fromMs - shiftMs < this.#knownFromMs) return null;
    return this.#counts.within(fromMs - shiftMs, toMs - shiftMs, BURST) >= TOO_MANY_TO_MISS;
  }
}
