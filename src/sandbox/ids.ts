import type { Random } from './random.ts';

export type Ids = { next(): string };

/** One in this many ids is short, as for a store's oldest records. */
const SHORT_EVERY = 12;
const FIRST_LONG = 719_000_000_000_000_000n;

/**
 * * Ids as digit strings. Most have 18 digits and are only a few units apart, so that a program that reads them as numbers
 * (exact only up to 2^53) confuses neighbours and reveals its fault.
 */
export function createIds(random: Random): Ids {
  let long = FIRST_LONG + BigInt(random.int(0, 1_000_000_000));
  let short = random.int(1_000, 9_000);
  let count = 0;
  return {
    next: () => {
      count += 1;
      if (count % SHORT_EVERY === 0) {
        short += random.int(1, 40);
        return String(short);
      }
      long += BigInt(random.int(1, 40));
      return String(long);
    },
  };
}

/** Orders digit strings by value without turning them into numbers. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
