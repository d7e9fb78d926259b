import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sell } from './steady-sales.ts';

const MINUTE = 60_000;

const sales = fc.record({
  kind: fc.constantFrom('own' as const, 'assembled' as const),
  everyMs: fc.integer({ min: 300, max: MINUTE }),
  delayMs: fc.integer({ min: 0, max: 900 }),
  latencyMs: fc.integer({ min: 0, max: 900 }),
});

test('a variant with warehouses sells at any pace without a read, and stays trusted', () => {
  fc.assert(
    fc.property(sales, (drawn) => {
      const cost = sell({ ...drawn, forMs: 10 * MINUTE, scheduledAtMs: [] });
      expect(cost).toEqual({ readsPerHour: 0, suspectShare: 0 });
    }),
  );
});
