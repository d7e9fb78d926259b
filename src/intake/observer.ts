/** What observes the public listener, such as counters: described here, passed in by the composition. */

export const REFUSAL_REASONS = [
  'missing_signature',
  'malformed_signature',
  'wrong_signature',
  'too_large',
  'not_stored',
  'no_room',
  'wrong_address',
  'wrong_protocol',
] as const;
type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface Refusal {
  readonly reason: RefusalReason;
  /** The status it was answered with. */
  readonly status: 400 | 401 | 404 | 413 | 503;
  /** From the request's headers to its answer. */
  readonly tookMs: number;
  /** The other end of the connection, which may be a proxy. */
  readonly remoteAddress: string | null;
  /** Size of the body; as declared when it was not read; null when neither is known. */
  readonly bytes: number | null;
  /** For `wrong_address` the method and path, for `wrong_protocol` the protocol. */
  readonly seen?: string;
}

/** Called once per request, when its answer is on its way. */
export interface IntakeObserver {
  /** An authentic delivery is committed, and answered 204. @param tookMs as in `Refusal`. */
  committed(body: Uint8Array, tookMs: number): void;
  refused(refusal: Refusal): void;
}
