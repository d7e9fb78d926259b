/** What refused bodies claim. The mirror asks the store whether it is true (docs/architecture.md#the-way-in). */
import type { NumberedClaim } from '../inbox/report.ts';
import { claimsOf } from '../store-api/claims.ts';

/** Between two reports: strangers can send any number. The first ones count, so that later noise does not displace them. */
const BODIES_AT_ONCE = 32;
const CLAIMS_AT_ONCE = 32;
const CLAIMS_OF_BODY = 8;
const MAX_LOOKED_AT_BYTES = 64 << 10;
/** Those of some reports, so that the mirror misses none. */
const CLAIMS_KEPT = 3 * CLAIMS_AT_ONCE;

export class RefusedClaims {
  #bodiesLeft = BODIES_AT_ONCE;
  #claimsLeft = CLAIMS_AT_ONCE;
  #lastSeq = 0;
  #claims: readonly NumberedClaim[] = [];

  get latest(): readonly NumberedClaim[] {
    return this.#claims;
  }

  refused(body: Uint8Array): void {
    if (this.#bodiesLeft === 0 || this.#claimsLeft === 0 || body.byteLength > MAX_LOOKED_AT_BYTES) return;
    this.#bodiesLeft -= 1;
    const found = claimsOf(body).slice(0, Math.min(CLAIMS_OF_BODY, this.#claimsLeft));
    this.#claimsLeft -= found.length;
    const numbered = found.map((claim, at) => ({ ...claim, seq: this.#lastSeq + at + 1 }));
    this.#lastSeq += found.length;
    this.#claims = [...this.#claims, ...numbered].slice(-CLAIMS_KEPT);
  }

  /** The last report is on disk. */
  written(): void {
    this.#bodiesLeft = BODIES_AT_ONCE;
    this.#claimsLeft = CLAIMS_AT_ONCE;
  }
}
