/**
 * Decides when wrong signatures mean that the secret was replaced in the store, and not here. Only requests signed with
 * another key count: strangers send no signature, or a malformed one.
 */

interface SignatureCounts {
  /** Requests with a signature of the right form that fits no secret. */
  readonly wrong: number;
  /** Deliveries with a correct one. */
  readonly right: number;
}

export interface SignatureView {
  readonly lastHour: SignatureCounts;
  readonly lastQuarter: SignatureCounts;
}

/** A store that sells little sends few deliveries: this many are enough when none was correct. */
const FEW = 3;
/** When some were correct: part of the apps' deliveries may still be signed with the old secret. */
const MANY = 10;
const SHARE = 0.2;

export function areSignaturesBad({ lastHour, lastQuarter }: SignatureView): boolean {
  if (lastHour.wrong >= FEW && lastHour.right === 0) return true;
  // Correct ones of the same hour may be from before the secret was replaced.
  if (lastQuarter.wrong >= FEW && lastQuarter.right === 0) return true;
  return lastQuarter.wrong >= MANY && lastQuarter.wrong >= SHARE * (lastQuarter.wrong + lastQuarter.right);
}
