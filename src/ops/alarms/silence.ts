/**
 * When is silence unusual? Stores are quiet at night and on Sundays, and sell ten items a day or ten a second, so no
 * fixed limit fits. The rule compares with the same hours of earlier days: silence since 01:00 means nothing if nothing
 * came at that time yesterday; 15 minutes at noon mean a lot if hundreds of deliveries did.
 */

/** One earlier day, in the hours of the present silence. */
export interface SameHours {
  readonly daysAgo: number;
  /** Deliveries, with bursts counted as a few; null: unknown. */
  readonly deliveries: number | null;
}

export interface SilenceView {
  readonly nowMs: number;
  /** Null: none has ever come. */
  readonly lastDeliveryAtMs: number | null;
  /** The mirror has been listening since then; downtime is not silence. */
  readonly listeningSinceMs: number;
  /** Earlier days, as far as they are known. */
  readonly before: readonly SameHours[];
}

/** Shorter silence is never unusual. */
const MIN_SILENCE_MS = 15 * 60_000;
/** While no earlier day is known, as on the first day. */
const UNKNOWN_SILENCE_MS = 12 * 60 * 60_000;
/** How many days back are compared: a whole week. */
export const DAYS_COMPARED = 7;
/**
 * With at least this many in the same hours of another day, silence is no coincidence: for independent deliveries its
 * probability is one in five hundred million.
 */
const TOO_MANY_TO_MISS = 20;

/**
 * Silence is unusual when most of the known days, and the same weekday if it is known, had at least
 * `TOO_MANY_TO_MISS` deliveries in the same hours.
 *
 * @returns the start of an unusual silence, else null.
 */
export function unusualSilence(view: SilenceView): number | null {
  const sinceMs = Math.max(view.lastDeliveryAtMs ?? 0, view.listeningSinceMs);
  const silentMs = view.nowMs - sinceMs;
  if (silentMs < MIN_SILENCE_MS) return null;
  const known = view.before.filter(({ deliveries }) => deliveries !== null);
  if (known.length === 0) return silentMs >= UNKNOWN_SILENCE_MS ? sinceMs : null;
  const busy = known.filter(({ deliveries }) => (deliveries ?? 0) >= TOO_MANY_TO_MISS);
  const sameWeekday = known.find(({ daysAgo }) => daysAgo === DAYS_COMPARED);
  if (sameWeekday !== undefined && !busy.includes(sameWeekday)) return null;
  return busy.length * 2 > known.length ? sinceMs : null;
}
