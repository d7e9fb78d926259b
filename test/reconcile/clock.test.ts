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

test('tells the time, also when it is asked rarely', () => {
  const { clock, silences } = clockWithEars();
  for (let i = 1; i <= 10; i += 1) {
    vi.advanceTimersByTime(1_500);
    expect(clock.now()).toBe(START + i * 1_500);
  }
  expect(silences).toEqual([]);
});

test('never goes back behind the last recorded time, or when the wall clock is set', () => {
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

test('reports the length of a suspension when the wall clock has jumped ahead', () => {
  const { clock, silences } = clockWithEars();
  clock.now();
  vi.setSystemTime(START + 60_000);
  expect(clock.now()).toBe(START + 60_000);
  expect(silences).toEqual([60_000]);
  clock.now();
  expect(silences).toHaveLength(1);
});

test('reports a process that stood still', () => {
  const { clock, silences } = clockWithEars();
  clock.now();
  vi.advanceTimersByTime(30_000);
  expect(clock.now()).toBe(START + 30_000);
  expect(silences).toEqual([30_000]);
});
