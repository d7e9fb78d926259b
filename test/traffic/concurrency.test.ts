import { expect, test } from 'vitest';
import { afterOverload, afterSuccess, allowed, startConcurrency } from '../../src/traffic/concurrency.ts';
import { T0 } from '../core/builders.ts';

test('starts low and within the ceiling', () => {
  expect(allowed(startConcurrency(8))).toBe(2);
  expect(allowed(startConcurrency(1))).toBe(1);
});

test('grows by one for as many successes as are under way, up to the ceiling', () => {
  let state = startConcurrency(4);
  state = afterSuccess(afterSuccess(state, 4), 4);
  expect(state.limit).toBeCloseTo(2.9);
  expect(allowed(state)).toBe(2);
  for (let i = 0; i < 50; i += 1) state = afterSuccess(state, 4);
  expect(state.limit).toBe(4);
});

test('halves once for one overload, again for the next, and never below one', () => {
  const full = { limit: 8, decreasedAtMs: 0 };
  const halved = afterOverload(full, T0 - 50, T0);
  expect(halved).toEqual({ limit: 4, decreasedAtMs: T0 });
  expect(afterOverload(halved, T0 - 1, T0 + 10)).toBe(halved);
  expect(afterOverload(halved, T0, T0 + 10)).toEqual({ limit: 2, decreasedAtMs: T0 + 10 });
  expect(allowed(afterOverload({ limit: 1, decreasedAtMs: 0 }, T0, T0))).toBe(1);
});
