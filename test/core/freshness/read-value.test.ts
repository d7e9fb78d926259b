/** The worth of a read against the time that is really saved, by numbers instead of formulas. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectedWrong, readValueMs, valueOfUncertainty } from '../../../src/core/freshness/read-value.ts';

/**
 * The wrong time and the reads of a level that is read when it has not been heard of for T, per unit of time: integrated
 * in small steps. Changes come once in a unit; q of them are lost.
 */
function byNumbers(q: number, T: number): { wrong: number; reads: number } {
  const steps = 20_000;
  const dt = T / steps;
  let length = 0;
  let wrong = 0;
  for (let i = 0; i < steps; i++) {
    const t = (i + 0.5) * dt;
    const unheard = Math.exp(-(1 - q) * t);
    length += unheard * dt;
    wrong += unheard * (1 - Math.exp(-q * t)) * dt;
  }
  return { wrong: wrong / length, reads: Math.exp(-(1 - q) * T) / length };
}

test.each([
  [0.01, 0.5],
  [0.01, 3],
  [0.05, 1],
  [0.3, 2],
])('at its own price no other moment to read is better: %s lost, after %s changes', (q, T) => {
  const price = valueOfUncertainty(q * T, q);
  const cost = (at: number): number => {
    const { wrong, reads } = byNumbers(q, at);
    return wrong + price * reads;
  };
  expect(cost(T)).toBeLessThan(cost(T * 0.8));
  expect(cost(T)).toBeLessThan(cost(T * 1.25));
});

const loss = fc.double({ min: 1e-6, max: 0.5, noNaN: true });
const uncertainty = fc.double({ min: 1e-9, max: 20, noNaN: true });

test('more uncertainty is worth more, and never more than a change apart', () => {
  fc.assert(
    fc.property(loss, uncertainty, (q, h) => {
      const value = valueOfUncertainty(h, q);
      expect(value).toBeGreaterThanOrEqual(0);
      expect(valueOfUncertainty(h * 1.5, q)).toBeGreaterThanOrEqual(value);
      expect(value).toBeLessThanOrEqual(1 + 1e-9);
    }),
  );
});

test('it is smooth where the closed form gives way to its series', () => {
  const q = 0.01;
  const below = valueOfUncertainty(0.999e-3 * q, q);
  const above = valueOfUncertainty(1.001e-3 * q, q);
  expect(above / below).toBeCloseTo((1.001 / 0.999) ** 2, 3);
});

const quiet = { lostSinceRead: 0.2, lostSinceChange: 0.2, changesPerMs: 1e-6, levels: 1 };

test('a product that changes ten times as often heals itself ten times sooner', () => {
  const often = readValueMs({ ...quiet, changesPerMs: 1e-5 }, 0.01);
  expect(readValueMs(quiet, 0.01) / often).toBeCloseTo(10, 9);
});

test('a change makes one of its levels certain', () => {
  const one = { ...quiet, lostSinceChange: 0 };
  expect(readValueMs(one, 0.01)).toBe(0);
  expect(expectedWrong(one)).toBe(0);
  const four = { ...one, levels: 4 };
  expect(expectedWrong(four)).toBeCloseTo(4 * (1 - Math.exp(-0.15 / 4)), 9);
  expect(expectedWrong({ ...quiet, levels: 4 })).toBeGreaterThan(expectedWrong(four));
});
