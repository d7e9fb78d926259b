import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sell, type Sales } from './steady-sales.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A request waits 10 s after the last answer, a read must be sent 2 s after the last change, and takes its time. */
const SETTLED_MS = 13 * SECOND;

const SALES: Sales = {
  kind: 'own',
  levels: 1,
  everyMs: SECOND,
  isRandom: true,
  forMs: 30 * MINUTE,
  delayMs: 100,
  latencyMs: 200,
  lagMs: 2 * SECOND,
  scheduledEveryMs: 10 * MINUTE,
  seed: 1,
};

const paces = fc.record({
  kind: fc.constantFrom('own' as const, 'assembled' as const),
  levels: fc.integer({ min: 1, max: 3 }),
  everyMs: fc.integer({ min: 300, max: MINUTE }),
  isRandom: fc.boolean(),
  delayMs: fc.integer({ min: 0, max: 900 }),
  seed: fc.nat(),
});

test('a variant with warehouses sells at any pace without a read, and stays trusted', () => {
  fc.assert(
    fc.property(paces, (pace) => {
      const cost = sell({ ...SALES, ...pace, forMs: 5 * MINUTE, scheduledEveryMs: null });
      expect(cost).toEqual({ readsAsked: 0, suspectShare: 0, settledAfterMs: 0 });
    }),
    { numRuns: 50 },
  );
});

const PACES = [1, 4, 10, 120].flatMap((seconds) =>
  [1, 20].map((levels) => ({ everyMs: seconds * SECOND, levels })),
);

test.each(PACES)('a scheduled read leaves few doubts about variants that keep selling: %o', (pace) => {
  const { readsAsked, suspectShare, settledAfterMs } = sell({ ...SALES, ...pace });
  expect(readsAsked).toBeLessThanOrEqual(60);
  expect(suspectShare).toBeLessThan(0.06);
  expect(settledAfterMs).toBeLessThan(SETTLED_MS);
});

test.each(PACES)('a pulled variant that sells is read at most every 10 s: %o', (pace) => {
  const { readsAsked, settledAfterMs } = sell({ ...SALES, ...pace, kind: 'pulled' });
  expect(readsAsked).toBeLessThanOrEqual(180);
  expect(settledAfterMs).toBeLessThan(SETTLED_MS);
});
