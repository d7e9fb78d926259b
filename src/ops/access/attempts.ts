/** Slows down guessing at the sign-in form. A bearer token is never delayed: an ERP may share the guesser's address. */

const WINDOW_MS = 60_000;
const OF_ONE_ADDRESS = 10;
/** Also the largest number of addresses remembered. */
const OF_ALL = 100;

export class Attempts {
  readonly #now: () => number;
  #windowEndsAtMs = 0;
  #failures = new Map<string, number>();
  #total = 0;

  /** @param now epoch ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @returns how long further attempts are refused unread; 0: the token may be tried. */
  waitMs(address: string): number {
    const leftMs = this.#windowEndsAtMs - this.#now();
    if (leftMs <= 0) return 0;
    return this.#total >= OF_ALL || (this.#failures.get(address) ?? 0) >= OF_ONE_ADDRESS ? leftMs : 0;
  }

  failed(address: string): void {
    if (this.#windowEndsAtMs <= this.#now()) {
      this.#windowEndsAtMs = this.#now() + WINDOW_MS;
      this.#failures = new Map();
      this.#total = 0;
    }
    this.#total += 1;
    this.#failures.set(address, (this.#failures.get(address) ?? 0) + 1);
  }
}
