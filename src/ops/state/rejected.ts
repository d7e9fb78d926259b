/**
 * The latest refused webhook requests, a bounded number of each kind: never a body, never a signature
 * (docs/architecture.md#security).
 */

/** As the public listener names them (src/intake/observer.ts). */
export const REJECTION_REASONS = [
  'missing_signature',
  'malformed_signature',
  'wrong_signature',
  'too_large',
  'not_stored',
  'no_room',
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

export type RejectedStatus = 401 | 413 | 503;

export interface RejectedRequest {
  /** Epoch ms. */
  readonly atMs: number;
  readonly status: RejectedStatus;
  readonly reason: RejectionReason;
  /** The other end of the connection, which may be a proxy. */
  readonly remoteAddress: string | null;
  readonly bytes: number | null;
}

export interface RejectedSamples {
  /** Newest first. */
  latest(): readonly RejectedRequest[];
}

const KEPT_EACH = 50;

/** A flood of one kind leaves the samples of the others alone. */
export class RejectedLog implements RejectedSamples {
  readonly #rings: Readonly<Record<RejectedStatus, RejectedRequest[]>> = { 401: [], 413: [], 503: [] };
  readonly #next: Record<RejectedStatus, number> = { 401: 0, 413: 0, 503: 0 };

  record(request: RejectedRequest): void {
    const at = this.#next[request.status];
    this.#rings[request.status][at] = request;
    this.#next[request.status] = (at + 1) % KEPT_EACH;
  }

  latest(): readonly RejectedRequest[] {
    return Object.entries(this.#rings)
      .flatMap(([status, ring]) => {
        const next = this.#next[Number(status) as RejectedStatus];
        return [...ring.slice(next), ...ring.slice(0, next)];
      })
      .toReversed()
      .toSorted((a, b) => b.atMs - a.atMs);
  }
}
