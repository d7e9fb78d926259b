import { expect, test } from 'vitest';
import { DeliveryHistory } from '../../../src/ops/state/silence.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A Wednesday, 12:00 UTC. */
const NOON = Date.UTC(2026, 8, 16, 12);
const SLOT = 5 * MINUTE;

/** @param deliveries per day in the hours before noon, yesterday first. */
function history(deliveries: readonly number[], silentMs: number): DeliveryHistory {
  const days = new DeliveryHistory(NOON);
  const minutes = deliveries.flatMap((count, i) => {
    const first = Math.ceil((NOON - silentMs - (i + 1) * DAY) / SLOT) * (SLOT / MINUTE);
    const slots = Math.max(1, Math.ceil(count / 10));
    return Array.from({ length: slots }, (_, slot) => ({
      minute: first + slot * (SLOT / MINUTE),
      values: { deliveries: Math.min(10, count - slot * 10) },
    }));
  });
  days.learn(minutes.toReversed());
  return days;
}

test.each<[string, number, readonly number[], boolean]>([
  ['a quarter of an hour in busy hours', 15 * MINUTE, [30, 30, 20, 30, 30, 30, 30], true],
  ['less than that, however busy', 15 * MINUTE - 1, [30, 30, 20, 30, 30, 30, 30], false],
  ['hours that are always quiet', 7 * HOUR, [0, 3, 0, 19, 0, 0, 1], false],
  ['hours that are busy on most days', HOUR, [20, 20, 0, 20, 20, 0, 20], true],
  ['hours that are busy on few days', HOUR, [20, 0, 0, 20, 0, 0, 20], false],
  ['the weekday on which the store rests', HOUR, [40, 60, 20, 90, 40, 40, 2], false],
  ['one delivery less than many', HOUR, [19, 19, 19, 19, 19, 19, 19], false],
  ['a single known day that was busy', HOUR, [30], true],
  ['a single known day that was quiet', HOUR, [3], false],
  ['as many quiet days as busy ones', HOUR, [30, 0], false],
  ['the first day, after eleven hours', 11 * HOUR, [], false],
  ['the first day, after twelve hours', 12 * HOUR, [], true],
])('%s', (_what, silentMs, deliveries, expected) => {
  expect(history(deliveries, silentMs).isSilenceUnusual(NOON - silentMs, NOON)).toBe(expected);
});

test('counts a burst as a few deliveries', () => {
  const days = new DeliveryHistory(NOON - DAY - HOUR);
  for (let i = 0; i < 500; i += 1) days.count(NOON - DAY - SLOT);
  expect(days.isSilenceUnusual(NOON - HOUR, NOON)).toBe(false);
});

test('expects silence of a store that sleeps from one to eight', () => {
  const days = new DeliveryHistory(NOON - 9 * DAY);
  const deliver = (fromMs: number, untilMs: number): void => {
    for (let atMs = fromMs; atMs < untilMs; atMs += MINUTE) days.count(atMs);
  };
  for (let day = 8; day >= 0; day -= 1) {
    const midnight = NOON - day * DAY - 12 * HOUR;
    deliver(midnight, midnight + HOUR);
    if (day > 0) deliver(midnight + 8 * HOUR, midnight + DAY);
  }
  const midnight = NOON - 12 * HOUR;
  const asleep = midnight + HOUR - MINUTE;
  for (let hour = 1.5; hour <= 8; hour += 0.5) {
    expect(days.isSilenceUnusual(asleep, midnight + hour * HOUR), `${hour} o'clock`).toBe(false);
  }
  expect(days.isSilenceUnusual(asleep, midnight + 8.5 * HOUR)).toBe(true);
});
