/**
 * Decides when wrong signatures mean that the secret was replaced in the store, and not here. Only requests signed with
 * another key count: strangers send no signature, or a malformed one.
 */
import { SlotCounts } from './slot-counts.ts';

const MINUTE_MS = 60_000;
const HOUR = 60;
const QUARTER = 15;
/** A store that sells little sends few deliveries: this many are enough when none was correct. */
const FEW = 3;
/** When some were correct: part of the apps' deliveries may still be signed with the old secret. */
const MANY = 10;
const SHARE = 0.2;

export class Signatures {
  readonly #wrong = new SlotCounts(MINUTE_MS, HOUR);
  readonly #right = new SlotCounts(MINUTE_MS, HOUR);

  count(isRight: boolean, atMs: number): void {
    (isRight ? this.#right : this.#wrong).add(atMs);
  }

  /** The counts of the last hour, if they are bad. */
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
