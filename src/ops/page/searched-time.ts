/** A time as a person types it, `2026-11-23 14:05` or ISO 8601, and the stretch of time that it means. */
import type { Span } from '../../mirror/queries/page/search.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const WRITTEN =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?$/i;
/** Times of this century and the last years of the one before, in ms, as the API gives them. */
const EPOCH_MS = /^[1-9]\d{12}$/;

/**
 * @param zone the IANA name of the reader's time zone, for a time that names none.
 * @returns null: it is no time.
 */
export function searchedTime(text: string, zone: string): Span | null {
  if (EPOCH_MS.test(text)) {
    const fromMs = Math.floor(Number(text) / SECOND_MS) * SECOND_MS;
    return { fromMs, untilMs: fromMs + SECOND_MS };
  }
  const [, year, month, day, hour, minute, second, offset] = WRITTEN.exec(text) ?? [];
  if (year === undefined) return null;
  const numbers = [year, month, day, hour ?? 0, minute ?? 0, second ?? 0].map(Number);
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = numbers;
  const wallMs = Date.UTC(y, mo - 1, d, h, mi, s);
  const isReal = mo >= 1 && mo <= 12 && new Date(wallMs).getUTCDate() === d && h < 24 && mi < 60 && s < 60;
  if (!isReal) return null;
  const fromMs = offset === undefined ? inZone(wallMs, zone) : wallMs - offsetOf(offset);
  const lengthMs = hour === undefined ? DAY_MS : second === undefined ? MINUTE_MS : SECOND_MS;
  return { fromMs, untilMs: fromMs + lengthMs };
}

/** `+07:00`, `+0700`; `Z` and `UTC` are none. */
function offsetOf(text: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(text) ?? [];
  const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * MINUTE_MS;
  return sign === '-' ? -ms : ms;
}

/** The instant at which clocks of the zone show this. */
function inZone(wallMs: number, zone: string): number {
  const nearMs = wallMs - aheadMs(wallMs, zone);
  // The zone's clocks may have been put forward or back between the two.
  return wallMs - aheadMs(nearMs, zone);
}

/** By how much the zone's clocks are ahead of UTC at this instant. */
function aheadMs(atMs: number, zone: string): number {
  const shown = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(atMs);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(shown.find((each) => each.type === type)?.value ?? 0);
  const wallMs = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return wallMs - Math.floor(atMs / SECOND_MS) * SECOND_MS;
}

/** The zone that the page's script says, as far as it is known here. */
export function zoneOf(name: string | undefined): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name ?? 'UTC' }).resolvedOptions().timeZone;
  } catch {
    return 'UTC';
  }
}
