/** Re-read requests, and when a read meets one (docs/architecture.md#re-read-requests). */
import {
  CONFLICT_PAUSE_MAX_MS,
  CONFLICT_PAUSE_MIN_MS,
  CONFLICT_READS,
  CONFLICT_ROW_MS,
  LATEST_MS,
  OVERTAKEN_READS,
  REPLICA_LAG_MS,
} from '../limits.ts';
import type { Product, ReadRequest } from '../model.ts';
import { REASONS, type Reason } from '../reasons.ts';

export interface NewRequest {
  readonly productId: string;
  readonly reason: Reason;
  readonly madeAtMs: number;
  /** A read before this instant would be too early. */
  readonly notBeforeMs?: number;
}

export function mergeRequests(standing: ReadRequest | undefined, added: NewRequest): ReadRequest {
  const { priority, isSuspect } = REASONS[added.reason];
  const notBeforeMs = Math.max(added.notBeforeMs ?? 0, added.madeAtMs + REPLICA_LAG_MS);
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
  const sooner = priority < standing.priority || standing.notBeforeMs === LATEST_MS;
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

export function conflictPauseMs(reads: number): number {
  if (reads < CONFLICT_READS) return 0;
  return Math.min(CONFLICT_PAUSE_MAX_MS, CONFLICT_PAUSE_MIN_MS * 2 ** (reads - CONFLICT_READS));
}

/** @returns the reads for conflicts in a row after `read`, which came while `standing` did. */
export function conflictReadsAfter(
  { readAtMs, readUntilMs, conflictReads: reads }: Product,
  standing: ReadRequest | undefined,
  read: { readonly sentAtMs: number },
): number {
  if (standing?.reason !== 'conflict') return Math.max(0, reads - 1);
  const pauseMs = conflictPauseMs(reads);
  // A read during the pause had another cause, such as a downtime: only reads for conflicts make pauses longer.
  if (read.sentAtMs < readUntilMs + pauseMs) return reads;
  if (read.sentAtMs >= readAtMs + Math.max(CONFLICT_ROW_MS, 2 * pauseMs)) return 1;
  // A read that further changes overtook contradicts nothing, and a busy product must not wait long.
  return isMet(standing, read) ? reads + 1 : Math.max(reads, Math.min(reads + 1, OVERTAKEN_READS));
}

/** The read was sent so late after the request was made that no replica can have been behind it. */
export function isMet(request: { readonly madeAtMs: number }, read: { readonly sentAtMs: number }): boolean {
  return request.madeAtMs + REPLICA_LAG_MS <= read.sentAtMs;
}

/** @returns null if the read met it, else the same request, due once a read can meet it. */
export function afterRead(standing: ReadRequest, read: { readonly sentAtMs: number }): ReadRequest | null {
  if (isMet(standing, read)) return null;
  const meetableMs = standing.madeAtMs + REPLICA_LAG_MS;
  // A read of a held request may have shown the rows again; another read decides.
  const isHeld = standing.notBeforeMs === LATEST_MS;
  return { ...standing, notBeforeMs: isHeld ? meetableMs : Math.max(standing.notBeforeMs, meetableMs) };
}
