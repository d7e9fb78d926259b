import { expect, test } from 'vitest';
import { nextTimes } from '../../src/reconcile/next-times.ts';

const NOW = new Date('2026-03-28T22:10:00Z');

test.each([
  ['Asia/Bangkok', '2026-03-30 03:00 GMT+07:00', '2026-03-29 05:15 GMT+07:00'],
  ['UTC', '2026-03-29 03:00 GMT+00:00', '2026-03-28 22:15 GMT+00:00'],
  // Clocks are put forward in this night.
  ['Europe/Berlin', '2026-03-29 03:00 GMT+02:00', '2026-03-28 23:15 GMT+01:00'],
])('names the next times in the zone %s', (timezone, resync, reconcile) => {
  const schedules = { resyncCron: '0 3 * * *', reconcileCron: '*/15 * * * *', timezone };
  expect(nextTimes(schedules, NOW)).toEqual({ timeZone: timezone, resync, reconcile });
});

test('names no time of a schedule that is off', () => {
  const schedules = { resyncCron: null, reconcileCron: null, timezone: 'UTC' };
  expect(nextTimes(schedules, NOW)).toEqual({ timeZone: 'UTC', resync: null, reconcile: null });
});
