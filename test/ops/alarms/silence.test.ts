/** When is silence news? The rule by a table, and the history that it is asked with. */
import { describe, expect, test } from 'vitest';
import { DeliveryHistory } from '../../../src/ops/alarms/delivery-history.ts';
import { unusualSilence, type SilenceView } from '../../../src/ops/alarms/silence.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A Wednesday, 12:00 UTC. */
const NOON = Date.UTC(2026, 8, 16, 12);

/** The same hours of the days before, yesterday first; null: nobody knows. */
const days = (...deliveries: (number | null)[]) =>
  deliveries.map((each, i) => ({ daysAgo: i + 1, deliveries: each }));

const view = (silentMs: number, before: SilenceView['before'], over: Partial<SilenceView> = {}) => ({
  nowMs: NOON,
  lastDeliveryAtMs: NOON - silentMs,
  listeningSinceMs: 0,
  before,
  ...over,
});

const BUSY = days(40, 60, 20, 90, 40, 40, 50);
const QUIET = days(0, 3, 0, 19, 0, 0, 1);

test.each<[string, SilenceView, silentSinceMs: number | null]>([
  ['a quarter of an hour in busy hours', view(15 * MINUTE, BUSY), NOON - 15 * MINUTE],
  ['less than that, however busy', view(15 * MINUTE - 1, BUSY), null],
  ['hours that are always quiet', view(7 * HOUR, QUIET), null],
  ['hours that are busy on most days', view(HOUR, days(20, 20, 0, 20, 20, 0, 20)), NOON - HOUR],
  ['hours that are busy on few days', view(HOUR, days(20, 0, 0, 20, 0, 0, 20)), null],
  ['the weekday on which the store rests', view(HOUR, days(40, 60, 20, 90, 40, 40, 2)), null],
  ['one deliveries short of usual', view(HOUR, days(19, 19, 19, 19, 19, 19, 19)), null],
  ['a single known day that was busy', view(HOUR, days(30, null, null, null, null, null, null)), NOON - HOUR],
  ['a single known day that was quiet', view(HOUR, days(3, null, null, null, null, null, null)), null],
  ['as many quiet days as busy ones', view(HOUR, days(30, 0, null, null, null, null, null)), null],
  ['the first day, after eleven hours', view(11 * HOUR, days(null, null)), null],
  ['the first day, after twelve hours', view(12 * HOUR, days(null, null)), NOON - 12 * HOUR],
  [
    'a service that has just begun to listen',
    view(DAY, BUSY, { listeningSinceMs: NOON - 14 * MINUTE }),
    null,
  ],
  [
    'a service that listens in vain since it began',
    view(DAY, BUSY, { listeningSinceMs: NOON - 20 * MINUTE }),
    NOON - 20 * MINUTE,
  ],
  [
    'no delivery ever, and nothing known, for half a day',
    view(0, [], { lastDeliveryAtMs: null, listeningSinceMs: NOON - 12 * HOUR }),
    NOON - 12 * HOUR,
  ],
])('%s', (_what, silence, expected) => {
  expect(unusualSilence(silence)).toBe(expected);
});

describe('what is known of the days before', () => {
  /** Deliveries every `everyMs` from `fromMs` to `untilMs`. */
  const deliver = (history: DeliveryHistory, fromMs: number, untilMs: number, everyMs: number): void => {
    for (let atMs = fromMs; atMs < untilMs; atMs += everyMs) history.count(atMs);
  };
  const judge = (history: DeliveryHistory, lastMs: number, nowMs: number): number | null =>
    unusualSilence({
      nowMs,
      lastDeliveryAtMs: lastMs,
      listeningSinceMs: 0,
      before: history.before(lastMs, nowMs),
    });

  test('a store that sleeps from one to eight: its nights are no news, its noon is', () => {
    const history = new DeliveryHistory(NOON - 9 * DAY);
    for (let day = 8; day >= 1; day -= 1) {
      const midnight = NOON - day * DAY - 12 * HOUR;
      deliver(history, midnight, midnight + HOUR, MINUTE);
      deliver(history, midnight + 8 * HOUR, midnight + DAY, MINUTE);
    }
    const midnight = NOON - 12 * HOUR;
    deliver(history, midnight, midnight + HOUR, MINUTE);
    const asleep = midnight + HOUR - MINUTE;
    for (let hour = 1.5; hour <= 8; hour += 0.5) {
      expect(judge(history, asleep, midnight + hour * HOUR), `${hour} o'clock`).toBe(null);
    }
    // It should have woken by now.
    expect(judge(history, asleep, midnight + 8.5 * HOUR)).toBe(asleep);
    deliver(history, midnight + 8 * HOUR, NOON, MINUTE);
    expect(judge(history, NOON - MINUTE, NOON + 10 * MINUTE)).toBe(null);
    expect(judge(history, NOON - MINUTE, NOON + 20 * MINUTE)).toBe(NOON - MINUTE);
  });

  test('days before the log begins are not known, and not taken for quiet ones', () => {
    const history = new DeliveryHistory(NOON);
    const { fromMs, slotMs, slots } = DeliveryHistory.wanted(NOON);
    const counts = new Array<number>(slots)
      .fill(0)
      .map((_, i) => (fromMs + i * slotMs >= NOON - 2 * DAY ? 9 : 0));
    history.learn(fromMs, { knownFromMs: NOON - 2 * DAY, counts });
    expect(history.before(NOON, NOON + HOUR).map(({ deliveries }) => deliveries === null)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(judge(history, NOON, NOON + HOUR)).toBe(NOON);
  });
});
