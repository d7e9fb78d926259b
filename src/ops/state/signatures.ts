/** Only well-formed signatures with another key count, since strangers send none or malformed ones. */
import { SlotCounts } from './slot-counts.ts';

const MINUTE_MS = 60_000;
const HOUR = 60;
const QUARTER = 15;
/** Enough when none was correct: a small store sends few deliveries. */
const FEW = 3;
/** Needed when some were correct, since the store may still sign some with the old secret. */
const MANY = 10;
const SHARE = 0.2;

export class Signatures {
  readonly #wrong = new SlotCounts(MINUTE_MS, HOUR);
  readonly #right = new SlotCounts(MINUTE_MS, HOUR);

  count(isRight: boolean, atMs: number, deliveries = 1): void {
    (isRight ? this.#right : this.#wrong).add(atMs, deliveries);
  }

  /** The counts of the last hour, or null if they are not bad. */
  bad(nowMs: number): { readonly wrong: number; readonly right: number } | null {
    const latest = (minutes: number) => ({
      wrong: this.#wrong.latest(nowMs, minutes),
      right: this.#right.latest(nowMs, minutes),
    });
    const [hour, quarter] = [latest(HOUR), latest(QUARTER)];
    // Correct ones of the same hour may be from before the secret was replaced.
    const allAreWrong = [hour, quarter].some(({ wrong, right }) => wrong >= FEW && right === 0);
    const manyAreWrong = quarter.wrong >= MANY && quarter.wrong >= SHARE * (quarter.wrong + quarter.right);
    return allAreWrong || manyAreWrong ? hour : null;
  }
}
