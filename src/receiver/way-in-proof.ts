/**
 * Shows that webhooks arrive, and with which secret (docs/operating.md#proof-of-the-way-in). The inbox keeps
 * a fingerprint of that secret in the receiver's report.
 */
import { scryptSync } from 'node:crypto';

const BYTES = 16;
/** Some 10 ms for each secret, once at the start: the event loop waits for it while the port is already open. */
const COST = 2 ** 12;

export class WayInProof {
  /** By secret, the present one first. */
  readonly #fingerprints: ReadonlyMap<string, string>;

  /** @param secrets the present one first. @param inbox identifies its file: in a copy, no proof counts. */
  constructor(secrets: readonly [string, ...string[]], inbox: string) {
    const fingerprints = secrets.map((secret): [string, string] => [
      secret,
      secretFingerprint(secret, inbox),
    ]);
    this.#fingerprints = new Map(fingerprints);
  }

  /** @returns what is left of the last run's proof: none if its secret no longer counts. */
  kept(provenSecret: string | null): string | null {
    return [...this.#fingerprints.values()].find((fingerprint) => fingerprint === provenSecret) ?? null;
  }

  /** @returns the proof once these deliveries are stored: the newest secret counts. */
  after(
    provenSecret: string | null,
    deliveries: readonly { readonly secret: string | null }[],
  ): string | null {
    for (const [secret, fingerprint] of this.#fingerprints) {
      if (fingerprint === provenSecret) break;
      if (deliveries.some((delivery) => delivery.secret === secret)) return fingerprint;
    }
    return provenSecret;
  }
}

/** @returns a text from which a reader of the file cannot guess the secret; the same for both, always the same. */
export function secretFingerprint(secret: string, inbox: string): string {
  return scryptSync(secret, inbox, BYTES, { N: COST }).toString('hex');
}
