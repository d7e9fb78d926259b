/** Re-read requests, and when a read meets one (docs/architecture.md#re-read-requests). */
import {
  CONFLICT_PAUSE_MAX_MS,
  CONFLICT_PAUSE_MIN_MS,
  CONFLICT_READS,
  CONFLICT_ROW_MS,
  HELD_MS,
  OVERTAKEN_READS,
  OWN_CHANGES_PAUSE_MS,
  REPLICA_LAG_MS,
} from '../limits.ts';
import type { Product, ReadRequest } from '../model.ts';
import { REASONS, type Reason } from '../reasons.ts';

interface NewRequest {
  readonly productId: string;
  readonly reason: Reason;
  readonly madeAtMs: number;
  /** A read before this instant would be too early. */
  readonly notBeforeMs: number;
}

export function mergeRequests(standing: ReadRequest | undefined, added: NewRequest): ReadRequest {
  const { priority, isSuspect } = REASONS[added.reason];
  const notBeforeMs = Math.max(added.notBeforeMs, added.madeAtMs + REPLICA_LAG_MS);
  if (standing === undefined) {
    return {
      productId: added.productId,
      reason: added.reason,
      priority,
      isSuspect,
      madeAtMs: added.madeAtMs,
      firstMadeAtMs: added.madeAtMs,
      notBeforeMs,
    };
  }
  const isHeld = isHeldRequest(standing);
  const sooner = priority < standing.priority || isHeld;
  return {
    productId: added.productId,
    reason: sooner ? added.reason : standing.reason,
    priority: Math.min(priority, standing.priority),
    isSuspect: isSuspect || standing.isSuspect,
    madeAtMs: Math.max(added.madeAtMs, standing.madeAtMs),
    firstMadeAtMs: Math.min(added.madeAtMs, standing.firstMadeAtMs),
    notBeforeMs: Math.min(notBeforeMs, standing.notBeforeMs),
  };
}

/** The mass-removal guard holds it until an operator decides. */
export function isHeldRequest({ notBeforeMs }: Pick<ReadRequest, 'notBeforeMs'>): boolean {
  return notBeforeMs === HELD_MS;
}

export function conflictPauseMs(reads: number): number {
  if (reads < CONFLICT_READS) return 0;
  return Math.min(CONFLICT_PAUSE_MAX_MS, CONFLICT_PAUSE_MIN_MS * 2 ** (reads - CONFLICT_READS));
}

/** `order`: of a read and a change, which is no request (docs/architecture.md#gaps). */
type PausedReason = Reason | 'order';

/** Neither conflicts that no read settles nor frequent changes may cause endless reads. */
export function hasPause(reason: PausedReason): boolean {
  return reason === 'conflict' || reason === 'derived' || reason === 'order';
}

export function pauseEndsAtMs(product: Product, reason: PausedReason, atMs: number): number {
  // The clock may have been set back since the last read.
  const readUntilMs = Math.min(product.readUntilMs, atMs);
  if (reason === 'conflict') return readUntilMs + conflictPauseMs(product.conflictReads);
  return hasPause(reason) ? readUntilMs + OWN_CHANGES_PAUSE_MS : readUntilMs;
}

/** @returns the reads for conflicts in a row after `read`, which came while `standing` did. */
export function conflictReadsAfter(
  { readAtMs, readUntilMs, conflictReads: reads }: Product,
  standing: ReadRequest | undefined,
  read: { readonly sentAtMs: number },
): number {
  if (standing?.reason !== 'conflict') return Math.max(0, reads - 1);
  const pauseMs = conflictPauseMs(reads);
  // A read during the pause had another cause, such as a
  // downtime: only reads for conflicts make pauses longer.
  if (read.sentAtMs < readUntilMs + pauseMs) return reads;
  if (read.sentAtMs >= readAtMs + Math.max(CONFLICT_ROW_MS, 2 * pauseMs)) return 1;
  return isMet(standing, read) ? reads + 1 : Math.max(reads, Math.min(reads + 1, OVERTAKEN_READS));
}

/** The read was sent so long after the request that no replica can still have lagged behind it. */
export function isMet(request: { readonly madeAtMs: number }, read: { readonly sentAtMs: number }): boolean {
  return request.madeAtMs + REPLICA_LAG_MS <= read.sentAtMs;
}

/** @returns null if the read met it, else the same request, due once a read can meet it. */
export function afterRead(standing: ReadRequest, read: { readonly sentAtMs: number }): ReadRequest | null {
  if (isMet(standing, read)) return null;
  const meetableMs = standing.madeAtMs + REPLICA_LAG_MS;
  // A read of a held request may have shown the rows again; another read decides.
  const isHeld = isHeldRequest(standing);
  return { ...standing, notBeforeMs: isHeld ? meetableMs : Math.max(standing.notBeforeMs, meetableMs) };
}
