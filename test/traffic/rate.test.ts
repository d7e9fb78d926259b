import { expect, test } from 'vitest';
import { refill, startRate, take } from '../../src/traffic/rate.ts';
import { T0 } from '../core/builders.ts';

test('fills with time up to a tenth of a second of its allowance', () => {
  const empty = take(startRate(T0));
  expect(empty.tokens).toBe(0);
  expect(refill(empty, 50, T0 + 20).tokens).toBe(1);
  expect(refill(empty, 50, T0 + 60_000).tokens).toBe(5);
});

test('a slow rate still holds one whole request', () => {
  expect(refill(take(startRate(T0)), 1, T0 + 60_000).tokens).toBe(1);
});

test('a clock that was set back takes nothing away', () => {
  expect(refill(startRate(T0), 50, T0 - 1_000).tokens).toBe(1);
});
