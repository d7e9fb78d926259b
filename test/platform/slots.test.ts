import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Slots } from '../../src/platform/slots.ts';
import { present } from '../shared/present.ts';

test('each value is found under its own number, once, whatever came and went between', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20), { nil: null })), (steps) => {
      const slots = new Slots<object>();
      const there = new Map<number, object>();
      for (const step of steps) {
        if (step === null) {
          const value = {};
          const slot = slots.put(value);
          expect(there.has(slot)).toBe(false);
          there.set(slot, value);
        } else {
          expect(slots.take(step)).toBe(there.get(step));
          there.delete(step);
        }
        expect(new Map(slots.entries())).toEqual(there);
      }
      expect(new Set(slots.takeAll())).toEqual(new Set(there.values()));
      expect(slots.entries()).toEqual([]);
    }),
  );
});

test('what was taken is gone at the next small cleaning of the heap, and not kept until a large one', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const oldBytes = () =>
    getHeapSpaceStatistics()
      .filter(({ space_name: name }) => name === 'old_space' || name === 'large_object_space')
      .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
  const slots = new Slots<object>();
  const taken: number[] = [];
  collect();
  const before = oldBytes();
  for (let i = 0; i < 20_000; i += 1) {
    taken.push(slots.put({ numbers: Array.from({ length: 60 }, () => i) }));
    if (taken.length > 32) slots.take(present(taken.shift()));
    if (i % 500 === 0) collect({ type: 'minor' });
  }
  // They were ten megabytes. Of a Map's, nearly all are there still.
  expect(oldBytes() - before).toBeLessThan(1_000_000);
});
