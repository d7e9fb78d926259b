/** The machine's clocks (docs/architecture.md#own-clock). */
import { expect, test } from 'vitest';
import { hostTime } from '../../src/platform/host-time.ts';

function machine() {
  const at = { wallMs: 1_790_000_000_000, monotonicMs: 80_000, uptimeMs: 80_000 };
  const pass = (ms: number): void => {
    at.wallMs += ms;
    at.monotonicMs += ms;
    at.uptimeMs += ms;
  };
  const suspend = (ms: number): void => {
    at.wallMs += ms;
    at.uptimeMs += ms;
  };
  const clocks = {
    wallMs: () => at.wallMs,
    monotonicMs: () => at.monotonicMs,
    // In steps of 10 ms.
    uptimeMs: () => Math.floor(at.uptimeMs / 10) * 10,
  };
  return { at, pass, suspend, clocks };
}

test('the first look after a suspension counts it', () => {
  const { pass, suspend, clocks } = machine();
  const { sinceBootMs } = hostTime(clocks);
  const beforeMs = sinceBootMs();
  pass(10);
  expect(sinceBootMs()).toBe(beforeMs + 10);
  suspend(30_000);
  expect(sinceBootMs()).toBe(beforeMs + 30_010);
});

test('counts a suspension during which the wall clock was set back within 200 ms', () => {
  const { at, pass, suspend, clocks } = machine();
  const { sinceBootMs } = hostTime(clocks);
  const beforeMs = sinceBootMs();
  suspend(30_000);
  at.wallMs -= 30_000;
  pass(200);
  expect(sinceBootMs()).toBe(beforeMs + 30_200);
});

test('a wall clock that is set is no suspension', () => {
  const { at, pass, clocks } = machine();
  const { sinceBootMs } = hostTime(clocks);
  const beforeMs = sinceBootMs();
  for (const ms of [5_000, -5_000, 86_400_000]) {
    at.wallMs += ms;
    pass(1);
    sinceBootMs();
  }
  expect(sinceBootMs()).toBe(beforeMs + 3);
});

test('a thread that pauses between two clocks finds no suspension', () => {
  const { pass, clocks } = machine();
  let pauseMs = 0;
  const { sinceBootMs } = hostTime({
    ...clocks,
    uptimeMs: () => {
      const foundMs = clocks.uptimeMs();
      pass(pauseMs);
      return foundMs;
    },
    monotonicMs: () => {
      const foundMs = clocks.monotonicMs();
      pass(pauseMs);
      return foundMs;
    },
  });
  const { sinceBootMs: exactMs } = hostTime(clocks);
  pauseMs = 400;
  sinceBootMs();
  pauseMs = 0;
  pass(200);
  expect(sinceBootMs()).toBe(exactMs());
});

test('two processes agree, though they read the uptime at different moments', () => {
  const { pass, suspend, clocks } = machine();
  const earlier = hostTime(clocks);
  earlier.sinceBootMs();
  suspend(5_047);
  earlier.sinceBootMs();
  suspend(60);
  pass(3);
  const later = hostTime(clocks);
  for (let n = 0; n < 20; n += 1) {
    pass(201);
    earlier.sinceBootMs();
    later.sinceBootMs();
  }
  expect(earlier.sinceBootMs()).toBe(later.sinceBootMs());
});
