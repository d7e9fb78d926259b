/** Times as people type them. */
import { expect, test } from 'vitest';
import { searchedTime } from '../../../src/ops/page/searched-time.ts';

test.each([
  ['2026-03-29 01:30', 'Europe/Berlin', '2026-03-29T00:30:00.000Z'],
  ['2026-03-29 03:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
  ['2026-10-25 12:00', 'Europe/Berlin', '2026-10-25T11:00:00.000Z'],
  ['2026-11-23', 'Asia/Kathmandu', '2026-11-22T18:15:00.000Z'],
  ['2026-11-23t14:05:01,250z', 'Asia/Bangkok', '2026-11-23T14:05:01.000Z'],
  ['2026-11-23 14:05-0330', 'Asia/Bangkok', '2026-11-23T17:35:00.000Z'],
])('%s in %s', (text, zone, expected) => {
  expect(new Date(searchedTime(text, zone)?.fromMs ?? 0).toISOString()).toBe(expected);
});

test.each([
  '2026-02-30',
  '2026-11-23 24:00',
  '2026-11-23 14:60',
  '14:05',
  '20261123',
  'x2026-11-23',
  '0790000000000',
])('%s is no time', (text) => {
  expect(searchedTime(text, 'UTC')).toBeNull();
});

test('means the day, the minute or the second that was written', () => {
  const length = (text: string) => {
    const { fromMs = 0, untilMs = 0 } = searchedTime(text, 'UTC') ?? {};
    return untilMs - fromMs;
  };
  expect(['2026-11-23', '2026-11-23 14:05', '2026-11-23 14:05:06', '1790000000123'].map(length)).toEqual([
    86_400_000, 60_000, 1_000, 1_000,
  ]);
});
