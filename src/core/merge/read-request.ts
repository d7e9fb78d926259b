/**
 * Obligations: products that must be read again, and when a read meets one
 * (docs/architecture.md#re-read-requests).
 */
import { LATEST_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { ReadRequest } from '../model.ts';
import { REASONS, type Reason } from '../reasons.ts';

export interface Doubt {
  readonly productId: string;
  readonly reason: Reason;
  readonly madeSeq: number;
  readonly madeAtMs: number;
  /** Not needed before this instant; a read that would be too early to meet the obligation is never asked for. */
  readonly notBeforeMs?: number;
}

/** The obligation that stands for an earlier one and a new doubt together. */
export function addDoubt(standing: ReadRequest | undefined, doubt: Doubt): ReadRequest {
  const { priority, isSuspect } = REASONS[doubt.reason];
  const notBeforeMs = Math.max(doubt.notBeforeMs ?? 0, doubt.madeAtMs + REPLICA_LAG_MS);
  if (standing === undefined) {
    return {
      productId: doubt.productId,
      reason: doubt.reason,
      priority,
      doubt: isSuspect,
      madeSeq: doubt.madeSeq,
      madeAtMs: doubt.madeAtMs,
      firstMadeAtMs: doubt.madeAtMs,
      notBeforeMs,
    };
  }
  const sooner = priority < standing.priority || standing.notBeforeMs === LATEST_MS;
  return {
    productId: doubt.productId,
    reason: sooner ? doubt.reason : standing.reason,
    priority: Math.min(priority, standing.priority),
    doubt: isSuspect || standing.doubt,
    madeSeq: Math.max(doubt.madeSeq, standing.madeSeq),
    madeAtMs: Math.max(doubt.madeAtMs, standing.madeAtMs),
    firstMadeAtMs: Math.min(doubt.madeAtMs, standing.firstMadeAtMs),
    notBeforeMs: Math.min(notBeforeMs, standing.notBeforeMs),
  };
}

/** The read was sent after the doubt was known, and late enough that no replica can have been behind it. */
export function isMet(
  doubt: { readonly madeSeq: number; readonly madeAtMs: number },
  read: { readonly s0: number; readonly sentAtMs: number },
): boolean {
  return doubt.madeSeq <= read.s0 && doubt.madeAtMs + REPLICA_LAG_MS <= read.sentAtMs;
}

/** What is left of an obligation after a read: nothing, or the same, to be read again once a read can meet it. */
export function afterRead(
  standing: ReadRequest,
  read: { readonly s0: number; readonly sentAtMs: number },
): ReadRequest | null {
  if (isMet(standing, read)) return null;
  const meetableMs = standing.madeAtMs + REPLICA_LAG_MS;
  // What the brake holds is asked for by nobody, but it was read all the same: one more read tells whether it is back.
  const isHeld = standing.notBeforeMs === LATEST_MS;
  return { ...standing, notBeforeMs: isHeld ? meetableMs : Math.max(standing.notBeforeMs, meetableMs) };
}
