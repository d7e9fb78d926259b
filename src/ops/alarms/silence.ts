/**
 * When is silence news? A store sleeps at night, rests on Sundays, and sells ten things a day or ten a second, so no
 * fixed limit fits. The rule asks what came at the same hours of the days before: silence since 01:00 means nothing when
 * nothing came at that time yesterday, and a quarter of an hour at noon means much when hundreds did.
 */

/** What the rule knows of one earlier day, in the hours of the present silence. */
export interface SameHours {
  readonly daysAgo: number;
  /** Deliveries, those of a burst counted as a few; null when nobody knows. */
  readonly deliveries: number | null;
}

export interface SilenceView {
  readonly nowMs: number;
  /** Null: none has ever come. */
  readonly lastDeliveryAtMs: number | null;
  /** Deliveries can come since then: what nobody listened for is no silence. */
  readonly listeningSinceMs: number;
  /** The days before, as far as they are known. */
  readonly before: readonly SameHours[];
}

/** Shorter silence is never news. */
export const MIN_SILENCE_MS = 15 * 60_000;
/** While no day is known to compare with, as on the first one. */
export const UNKNOWN_SILENCE_MS = 12 * 60 * 60_000;
/** So many days back are compared: a whole week. */
export const DAYS_COMPARED = 7;
/**
 * As many as this in the same hours of another day, and silence in their place is no chance: with deliveries that come
 * independently of one another it would be one in five hundred million.
 */
export const TOO_MANY_TO_MISS = 20;

/**
 * Silence is unusual when most of the known days, and the same weekday if it is known, had at least
 * `TOO_MANY_TO_MISS` deliveries in the same hours.
 *
 * @returns since when it is silent, when that is unusual; else null.
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
