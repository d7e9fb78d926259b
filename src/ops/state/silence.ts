/**
 * When is silence unusual? Stores are quiet at night and on Sundays, and sell ten items a day or ten a second, so no
 * fixed limit fits. The rule compares with the same hours of earlier days: silence since 01:00 means nothing if nothing
 * came at that time yesterday; 15 minutes at noon mean a lot if hundreds of deliveries did.
 */
import type { DeliveryCounts } from '../../mirror/queries/delivery-counts.ts';
import { SlotCounts } from './slot-counts.ts';

/** Shorter silence is never unusual. */
const MIN_SILENCE_MS = 15 * 60_000;
/** While no earlier day is known, as on the first day. */
const UNKNOWN_SILENCE_MS = 12 * 60 * 60_000;
/** How many days back are compared: a whole week. */
const DAYS_COMPARED = 7;
/**
 * With at least this many in the same hours of another day, silence is no coincidence: for independent deliveries its
 * probability is one in five hundred million.
 */
const TOO_MANY_TO_MISS = 20;

const SLOT_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;
/** One day more than is compared: a silence may last a day and still be compared with full days. */
const SLOTS = ((DAYS_COMPARED + 1) * DAY_MS) / SLOT_MS;
/** The most that one slot counts: a bulk edit makes hundreds of deliveries at once, and says little about the usual rate. */
const BURST = 10;

export class DeliveryHistory {
  readonly #counts = new SlotCounts(SLOT_MS, SLOTS);
  #knownFromMs: number;

  constructor(nowMs: number) {
    this.#knownFromMs = nowMs;
  }

  count(atMs: number): void {
    this.#counts.add(atMs);
  }

  /** The query for all full slots before the current one. */
  static wanted(nowMs: number): { fromMs: number; slotMs: number; slots: number } {
    const untilMs = Math.floor(nowMs / SLOT_MS) * SLOT_MS;
    return { fromMs: untilMs - (SLOTS - 1) * SLOT_MS, slotMs: SLOT_MS, slots: SLOTS - 1 };
  }

  /** @param fromMs of the query. */
  learn(fromMs: number, { knownFromMs, counts }: DeliveryCounts): void {
    if (knownFromMs === null) return;
    this.#knownFromMs = Math.min(this.#knownFromMs, knownFromMs);
    for (const [slot, count] of counts.entries()) {
      if (count > 0) this.#counts.add(fromMs + slot * SLOT_MS, count);
    }
  }

  /** Most of the known days, and the same weekday if it is known, had many deliveries in the hours of this silence. */
  isSilenceUnusual(sinceMs: number, nowMs: number): boolean {
    if (nowMs - sinceMs < MIN_SILENCE_MS) return false;
    const isBusy = Array.from({ length: DAYS_COMPARED }, (_, i) => this.#wasBusy(sinceMs, nowMs, i + 1));
    const known = isBusy.filter((busy) => busy !== null);
    if (known.length === 0) return nowMs - sinceMs >= UNKNOWN_SILENCE_MS;
    return isBusy.at(-1) !== false && known.filter(Boolean).length * 2 > known.length;
  }

  /** null: unknown. */
  #wasBusy(fromMs: number, toMs: number, daysAgo: number): boolean | null {
    const shiftMs = daysAgo * DAY_MS;
    if (fromMs - shiftMs < this.#knownFromMs) return null;
    return this.#counts.within(fromMs - shiftMs, toMs - shiftMs, BURST) >= TOO_MANY_TO_MISS;
  }
}
