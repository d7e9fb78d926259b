import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pauseAfterFailure, remainingMs, youngRefusals } from '../../src/store-api/token/token-pacing.ts';

test('a pause after a failure lasts 1 to 60 seconds, whatever the luck', () => {
  const lucks = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), lucks, (failures, random) => {
      const { fromMs, untilMs } = pauseAfterFailure(failures, 5_000, random);
      expect(fromMs).toBe(5_000);
      expect(untilMs - fromMs).toBeGreaterThanOrEqual(1_000);
      expect(untilMs - fromMs).toBeLessThanOrEqual(60_000);
    }),
  );
});

test('a pause counts from its start to before its end only', () => {
  const pause = { fromMs: 100, untilMs: 130 };
  expect([99, 100, 129, 130, 131].map((nowMs) => remainingMs(pause, nowMs))).toEqual([0, 30, 1, 0, 0]);
  expect(remainingMs(null, 100)).toBe(0);
});

test('refusals of young tokens add up until one has lived a minute', () => {
  expect(youngRefusals(2, 1_000, 60_999)).toBe(3);
  expect(youngRefusals(2, 1_000, 61_000)).toBe(0);
});
