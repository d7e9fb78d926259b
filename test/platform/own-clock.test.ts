/** The clock of the merge rules (docs/architecture.md#own-clock). */
import { expect, test } from 'vitest';
import { OwnClock, type ClockReading } from '../../src/platform/own-clock.ts';

const WALL = 1_790_000_000_000;
const DAY_MS = 24 * 60 * 60_000;

function machine(bootId: string | null = 'boot-1') {
  const at = { wallMs: WALL, sinceBootMs: 50_000 };
  const pass = (ms: number): void => {
    at.wallMs += ms;
    at.sinceBootMs += ms;
  };
  return { at, pass, host: { wallMs: () => at.wallMs, sinceBootMs: () => at.sinceBootMs, bootId } };
}

test('starts at the wall clock and passes with the machine', () => {
  const { host, pass } = machine();
  const clock = new OwnClock(host, null);
  expect(clock.now()).toBe(WALL);
  pass(1_234);
  expect(clock.now()).toBe(WALL + 1_234);
});

test('never goes back when the wall clock is set back, and approaches it by a tenth', () => {
  const { host, at, pass } = machine();
  const clock = new OwnClock(host, null);
  at.wallMs -= 30_000;
  let last = clock.now();
  for (let n = 0; n < 10; n += 1) {
    pass(1_000);
    expect(clock.approach()).toBe(0);
    expect(clock.now()).toBeGreaterThanOrEqual(last);
    last = clock.now();
  }
  expect(clock.now() - at.wallMs).toBe(29_000);
});

test('follows a wall clock that was set ahead at once', () => {
  const { host, at, pass } = machine();
  const clock = new OwnClock(host, null);
  at.wallMs += DAY_MS;
  pass(1_000);
  clock.approach();
  expect(clock.now()).toBe(WALL + DAY_MS + 1_000);
});

test('steps back to the wall clock if it is more than a minute ahead', () => {
  const { host, at, pass } = machine();
  const clock = new OwnClock(host, null);
  at.wallMs -= DAY_MS;
  pass(1_000);
  expect(clock.approach()).toBe(DAY_MS);
  expect(clock.now()).toBe(at.wallMs);
});

test.each<[string, Partial<ClockReading>, string | null, number]>([
  ['the same boot: the time passed since then', { clockMs: WALL + 5_000 }, 'boot-1', WALL + 7_000],
  ['the same boot, behind the wall clock', { clockMs: WALL - DAY_MS }, 'boot-1', WALL],
  ['an earlier boot: at least a heartbeat', { clockMs: WALL + 5_000 }, 'boot-2', WALL + 6_000],
  ['a system without names of boots', { clockMs: WALL + 5_000, bootId: null }, null, WALL + 6_000],
  ['a clock that was a day ahead', { clockMs: WALL + DAY_MS }, 'boot-1', WALL],
])('continues a reading of %s', (_, reading, bootId, startMs) => {
  const { host } = machine(bootId);
  const last = { clockMs: WALL, sinceBootMs: 48_000, bootId: 'boot-1', ...reading };
  expect(new OwnClock(host, last).now()).toBe(startMs);
});

test('does not slew at one blow after the process hung', () => {
  const { host, at, pass } = machine();
  const clock = new OwnClock(host, null);
  at.wallMs -= 25_000;
  pass(200_000);
  clock.approach();
  expect(clock.now() - at.wallMs).toBe(24_800);
});
