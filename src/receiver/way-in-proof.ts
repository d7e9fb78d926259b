/**
 * Shows that webhooks arrive, and with which secret (docs/operating.md#proof-of-the-way-in). The inbox keeps a fingerprint of
 * that secret in the receiver's report.
 */
import { scryptSync } from 'node:crypto';

const BYTES = 16;
/** Some 10 ms for each secret, once at the start: the event loop waits for it while the port is already open. */
const COST = 2 ** 12;

export class WayInProof {
  readonly #fingerprints: ReadonlyMap<string, string>;
  readonly #present: string;

  /** @param secrets the present one first. */
  constructor(secrets: readonly [string, ...string[]], inboxId: string) {
    this.#present = secretFingerprint(secrets[0], inboxId);
    this.#fingerprints = new Map(secrets.map((secret) => [secret, secretFingerprint(secret, inboxId)]));
  }

  /** @returns what is left of the last run's proof: none if its secret no longer counts. */
  kept(provenSecret: string | null): string | null {
    return [...this.#fingerprints.values()].find((fingerprint) => fingerprint === provenSecret) ?? null;
  }

  /** @returns the proof once these deliveries are stored. A proof of the present secret stays. */
  after(
    provenSecret: string | null,
    deliveries: readonly { readonly secret: string | null }[],
  ): string | null {
    if (provenSecret === this.#present) return provenSecret;
    const used = new Set(deliveries.map(({ secret }) => secret));
    for (const [secret, fingerprint] of this.#fingerprints) {
      if (used.has(secret)) return fingerprint;
    }
    return provenSecret;
  }
}

/** @returns a text from which a reader of the file cannot guess the secret; the same for both, always the same. */
export function secretFingerprint(secret: string, inboxId: string): string {
  return scryptSync(secret, inboxId, BYTES, { N: COST }).toString('hex');
}
