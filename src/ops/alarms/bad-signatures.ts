/**
 * When do wrong signatures mean that the secret was replaced at the service, and not here? Strangers send requests
 * without a signature, or with nonsense in its place; these do not count. What is signed with another key does.
 */

export interface SignatureCounts {
  /** Requests with a signature of the right form that fits no secret. */
  readonly wrong: number;
  /** Deliveries with a right one. */
  readonly right: number;
}

export interface SignatureView {
  readonly lastHour: SignatureCounts;
  readonly lastQuarter: SignatureCounts;
}

/** A store that sells little sends few: these are enough when no right one came among them. */
const FEW = 3;
/** Among right ones: half of the apps' deliveries may still be signed with the old secret. */
const MANY = 10;
const SHARE = 0.2;

export function areSignaturesBad({ lastHour, lastQuarter }: SignatureView): boolean {
  if (lastHour.wrong >= FEW && lastHour.right === 0) return true;
  // Right ones of the same hour may be from before the secret was replaced.
  if (lastQuarter.wrong >= FEW && lastQuarter.right === 0) return true;
  return lastQuarter.wrong >= MANY && lastQuarter.wrong >= SHARE * (lastQuarter.wrong + lastQuarter.right);
}
