import { expect, onTestFinished, test, vi } from 'vitest';
import { advance, createClock } from '../../src/app/clock.ts';
import { T0 } from '../core/builders.ts';

const CLOCK = { nowMs: T0, monotonicMs: 1_000 };

test.each([
  { when: 'both clocks agree', wallMs: 1_000, nowMs: 1_000 },
  { when: 'the wall clock is a little ahead', wallMs: 1_050, nowMs: 1_050 },
  { when: 'the wall clock is further ahead', wallMs: 2_500, nowMs: 1_100 },
  { when: 'the wall clock was set back a little', wallMs: 950, nowMs: 950 },
  { when: 'the wall clock was set back an hour', wallMs: -3_600_000, nowMs: 900 },
  { when: 'the wall clock is ahead by just no jump', wallMs: 3_000, nowMs: 1_100 },
])('after 1 s, when $when', ({ wallMs, nowMs }) => {
  const clock = { nowMs: T0 + nowMs, monotonicMs: 2_000 };
  expect(advance(CLOCK, T0 + wallMs, 2_000)).toEqual({ clock, jumpedMs: 0 });
});

test('follows and reports a jump ahead at once', () => {
  expect(advance(CLOCK, T0 + 3_001, 2_000)).toEqual({
    clock: { nowMs: T0 + 3_001, monotonicMs: 2_000 },
    jumpedMs: 2_001,
  });
});

test('never runs back', () => {
  expect(advance(CLOCK, T0 - 60_000, 500).clock.nowMs).toBe(T0);
});

test('reports a standstill in whole milliseconds, which cover all of it', () => {
  let monotonicMs = 1_000.25;
  vi.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
  vi.spyOn(Date, 'now').mockReturnValue(T0);
  onTestFinished(() => void vi.restoreAllMocks());
  const { now, onStandstill } = createClock(0);
  const silent: number[] = [];
  onStandstill((silentMs) => void silent.push(silentMs));
  monotonicMs += 2_000.5;
  now();
  expect(silent).toEqual([2_001]);
});
