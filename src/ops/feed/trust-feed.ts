/** The trust of all rows, computed at most once a second for all consumers (docs/http-api.md#trust). */
import type { MirrorReader } from '../../mirror/mirror.ts';
import type { TrustReport } from '../../mirror/queries/trust.ts';

export interface Trust extends TrustReport {
  readonly as_of: number;
}

interface TrustFeedDeps {
  readonly reader: MirrorReader;
  readonly now: () => number;
}

export const TRUST_EVERY_MS = 1_000;

export class TrustFeed {
  readonly #deps: TrustFeedDeps;
  #latest: { readonly computedMs: number; readonly trust: Promise<Trust> } | null = null;

  constructor(deps: TrustFeedDeps) {
    this.#deps = deps;
  }

  /** At most a second old. @throws SqliteFault */
  now(): Promise<Trust> {
    const nowMs = performance.now();
    if (this.#latest !== null && nowMs - this.#latest.computedMs < TRUST_EVERY_MS) return this.#latest.trust;
    const trust = this.#compute();
    const latest = { computedMs: nowMs, trust };
    this.#latest = latest;
    trust.catch(() => {
      if (this.#latest === latest) this.#latest = null;
    });
    return trust;
  }

  async #compute(): Promise<Trust> {
    const { reader, now } = this.#deps;
    const asOf = now();
    return { ...(await reader.ask('trust')), as_of: asOf };
  }
}

/** Changes when a consumer must know of it. */
export function essenceOf({ state, cause, untrusted, untrusted_count: count }: Trust): string {
  return JSON.stringify([state, cause, untrusted, count]);
}
