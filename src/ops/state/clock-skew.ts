/** Compares this machine's clock with the store's by the latest answers. A single one may come from a cache. */
import { storeAheadMs } from '../../store-api/transport/http-date.ts';
import type { AnswerTimes } from '../../store-api/transport/errors.ts';

const ANSWERS = 3;

export class ClockSkew {
  readonly #latest: number[] = [];

  note(times: AnswerTimes): void {
    const aheadMs = storeAheadMs(times);
    if (aheadMs === null) return;
    this.#latest.push(-aheadMs);
    if (this.#latest.length > ANSWERS) this.#latest.shift();
  }

  /** Least difference; positive: this machine is ahead. null if the answers are too few or disagree. */
  get aheadMs(): number | null {
    if (this.#latest.length < ANSWERS) return null;
    const [first = 0] = this.#latest;
    if (!this.#latest.every((each) => Math.sign(each) === Math.sign(first))) return null;
    return Math.sign(first) * Math.min(...this.#latest.map(Math.abs));
  }
}
