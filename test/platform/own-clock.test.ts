/** The clock of the merge rules, in the receiver's process and in the mirror's (docs/architecture.md#own-clock). */
import { expect, test } from 'vitest';
import { SharedClock } from '../../src/mirror/shared-clock.ts';
import { OwnClock, type ClockReading } from '../../src/platform/own-clock.ts';

const WALL = 1_790_000_000_000;
const DAY_MS = 24 * 60 * 60_000;
/** By which the mirror's clock is behind. */
const BEHIND_MS = 20;

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

test.each([2_000, -60_000])('is not slewed while the wall clock is %i ms away', (ms) => {
  const { host, at, pass } = machine();
  const clock = new OwnClock(host, null);
  at.wallMs += ms;
  for (let n = 1; n <= 10; n += 1) {
    pass(1_000);
    expect(clock.check()).toBe(0);
    expect(clock.now()).toBe(WALL + n * 1_000);
  }
});

test.each([2_001, DAY_MS, -60_001, -DAY_MS])('is set again if the wall clock is %i ms away', (ms) => {
  const { host, at } = machine();
  const clock = new OwnClock(host, null);
  at.wallMs += ms;
  expect(clock.check()).toBe(ms);
  expect(clock.now()).toBe(at.wallMs);
  expect(clock.check()).toBe(0);
});

test.each<[string, Partial<ClockReading>, string | null, number]>([
  ['the same boot: the time passed since then', { clockMs: WALL + 5_000 }, 'boot-1', WALL + 7_000],
  ['the same boot, behind the wall clock', { clockMs: WALL - DAY_MS }, 'boot-1', WALL - DAY_MS + 2_000],
  ['an earlier boot: at least a heartbeat', { clockMs: WALL + 5_000 }, 'boot-2', WALL + 6_000],
  ['an earlier boot, behind the wall clock', { clockMs: WALL - DAY_MS }, 'boot-2', WALL],
  ['an earlier boot that was a day ahead', { clockMs: WALL + DAY_MS }, 'boot-2', WALL],
  ['a system without names of boots', { clockMs: WALL + 5_000, bootId: null }, null, WALL + 7_000],
  [
    'an earlier boot of such a system',
    { clockMs: WALL + 5_000, sinceBootMs: 60_000, bootId: null },
    null,
    WALL + 6_000,
  ],
])('continues a reading of %s', (_, reading, bootId, startMs) => {
  const { host } = machine(bootId);
  const last = { clockMs: WALL, sinceBootMs: 48_000, bootId: 'boot-1', ...reading };
  expect(new OwnClock(host, last).now()).toBe(startMs);
});

test('the mirror’s clock shows the receiver’s time, and is never ahead of it', () => {
  const { host, at, pass } = machine();
  const receiver = new OwnClock(host, null);
  const mirror = new SharedClock(host, receiver.reading());
  at.wallMs -= 25_000;
  for (const ms of [1, 1_000, 200_000]) {
    pass(ms);
    expect(mirror.follow(receiver.reading())).toBe(false);
    expect(mirror.now()).toBe(receiver.now() - BEHIND_MS);
  }
});

test('the mirror’s clock follows a step ahead, and is behind until it has heard of it', () => {
  const { host, at } = machine();
  const receiver = new OwnClock(host, null);
  const mirror = new SharedClock(host, receiver.reading());
  at.wallMs += DAY_MS;
  receiver.check();
  expect(mirror.now()).toBe(WALL - BEHIND_MS);
  expect(mirror.follow(receiver.reading())).toBe(false);
  expect(mirror.now()).toBe(receiver.now() - BEHIND_MS);
});

test('a step back of the receiver’s clock is one of the mirror’s', () => {
  const { host, at } = machine();
  const receiver = new OwnClock(host, null);
  const mirror = new SharedClock(host, receiver.reading());
  mirror.now();
  at.wallMs -= DAY_MS;
  receiver.check();
  expect(mirror.follow(receiver.reading())).toBe(true);
  expect(mirror.now()).toBe(receiver.now() - BEHIND_MS);
});

test('before a receiver of this boot has run, the mirror may not read', () => {
  const { host } = machine('boot-2');
  const last = { clockMs: WALL + 5_000, sinceBootMs: 48_000, bootId: 'boot-1' };
  const mirror = new SharedClock(host, last);
  expect(mirror.mayRead).toBe(false);
  expect(mirror.now()).toBe(WALL + 5_000);
  expect(mirror.follow(null)).toBe(false);
  const receiver = new OwnClock(host, last);
  expect(mirror.follow(receiver.reading())).toBe(false);
  expect(mirror.mayRead).toBe(true);
  expect(mirror.now()).toBe(receiver.now() - BEHIND_MS);
});
