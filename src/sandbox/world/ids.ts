import type { Random } from './random.ts';

const SHORT_EVERY = 12;
const FIRST_LONG = 719_000_000_000_000_000n;

/** Most ids have 18 digits and are close together, which reveals programs that read them as numbers (exact to 2^53). */
export class Ids {
  readonly #random: Random;
  #long: bigint;
  #short: number;
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#long = FIRST_LONG + BigInt(random.int(0, 1_000_000_000));
    this.#short = random.int(1_000, 9_000);
  }

  next(): string {
    this.#count += 1;
    if (this.#count % SHORT_EVERY === 0) {
      this.#short += this.#random.int(1, 40);
      return String(this.#short);
    }
    this.#long += BigInt(this.#random.int(1, 40));
    return String(this.#long);
  }
}

export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
