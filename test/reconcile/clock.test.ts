import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createClock } from '../../src/app/clock.ts';

const START = Date.UTC(2026, 0, 1);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

function clockWithEars(notBeforeMs = 0) {
  const clock = createClock(notBeforeMs);
  const silences: number[] = [];
  clock.onStandstill((silentMs) => silences.push(Math.round(silentMs)));
  return { clock, silences };
}

test('it tells the time, and is not troubled by being asked rarely', () => {
  const { clock, silences } = clockWithEars();
  for (let i = 1; i <= 10; i += 1) {
    vi.advanceTimersByTime(1_500);
    expect(clock.now()).toBe(START + i * 1_500);
  }
  expect(silences).toEqual([]);
});

test('it never goes back: not behind the last instant on record, and not when the wall clock is set', () => {
  const { clock, silences } = clockWithEars(START + 10_000);
  expect(clock.now()).toBe(START + 10_000);
  let last = clock.now();
  vi.setSystemTime(START - 3_600_000);
  for (let i = 0; i < 20; i += 1) {
    vi.advanceTimersByTime(100);
    const now = clock.now();
    expect(now).toBeGreaterThanOrEqual(last);
    expect(now - last).toBeLessThanOrEqual(100);
    last = now;
  }
  expect(silences).toEqual([]);
});

test('a suspended machine: the wall clock ran ahead, and nobody listened for that long', () => {
  const { clock, silences } = clockWithEars();
  clock.now();
  vi.setSystemTime(START + 60_000);
  expect(clock.now()).toBe(START + 60_000);
  expect(silences).toEqual([60_000]);
  clock.now();
  expect(silences).toHaveLength(1);
});

test('a process that stood still: nobody asked for the time for longer than a service ever does', () => {
  const { clock, silences } = clockWithEars();
  clock.now();
  vi.advanceTimersByTime(30_000);
  expect(clock.now()).toBe(START + 30_000);
  expect(silences).toEqual([30_000]);
});
