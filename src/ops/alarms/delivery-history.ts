/** When deliveries came during the last week: what the silence rule compares with. */
import type { DeliveryCounts } from '../../mirror/queries/delivery-counts.ts';
import { DAYS_COMPARED, type SameHours } from './silence.ts';
import { SlotCounts } from './slot-counts.ts';

const SLOT_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;
/** One day more than is compared: a silence may last a day and still be compared with full days. */
const SLOTS = ((DAYS_COMPARED + 1) * DAY_MS) / SLOT_MS;
/** The most that one slot counts: a bulk edit makes hundreds of deliveries at once, and says little about the usual rate. */
const BURST = 10;

export class DeliveryHistory {
  readonly #counts: SlotCounts;
  #knownFromMs: number;

  constructor(nowMs: number) {
    this.#counts = new SlotCounts(SLOT_MS, SLOTS, nowMs);
    this.#knownFromMs = nowMs;
  }

  count(atMs: number): void {
    this.#counts.add(atMs);
  }

  /** What to ask the event log for at start: all full slots before the current one. */
  static wanted(nowMs: number): { fromMs: number; slotMs: number; slots: number } {
    const untilMs = Math.floor(nowMs / SLOT_MS) * SLOT_MS;
    return { fromMs: untilMs - (SLOTS - 1) * SLOT_MS, slotMs: SLOT_MS, slots: SLOTS - 1 };
  }

  /** @param fromMs as asked for. */
  learn(fromMs: number, { knownFromMs, counts }: DeliveryCounts): void {
    if (knownFromMs === null) return;
    this.#knownFromMs = Math.min(this.#knownFromMs, knownFromMs);
    for (const [slot, count] of counts.entries()) {
      if (count > 0) this.#counts.add(fromMs + slot * SLOT_MS, count);
    }
  }

  /** The same hours of the days before. */
  before(fromMs: number, toMs: number): SameHours[] {
    return Array.from({ length: DAYS_COMPARED }, (_, i) => {
      const daysAgo = i + 1;
      const shiftMs = daysAgo * DAY_MS;
      const isKnown = fromMs - shiftMs >= this.#knownFromMs;
      return {
        daysAgo,
        deliveries: isKnown ? this.#counts.within(fromMs - shiftMs, toMs - shiftMs, BURST) : null,
      };
    });
  }
}
