/**
 * Refused requests that may be the store's webhooks. Those that another webhook has followed may have been missed; the
 * others show that the way in is blocked (docs/operating.md#proof-of-the-way-in).
 */
import { STORE_REFUSALS, type RefusedWebhooks } from '../inbox/report.ts';
import { variantIdsOf } from '../store-api/variant-ids.ts';
import type { Refusal } from './webhook-app.ts';

/** Enough to see whether refused requests are about variants of the store. */
const VARIANTS_SHOWN = 20;
/** Bodies whose variants are looked at between two reports: strangers can send any number. */
const BODIES_LOOKED_AT = 10;
const MAX_LOOKED_AT_BYTES = 64 << 10;

export class RefusedRequests {
  readonly #now: () => number;
  #bodiesLookedAt = 0;
  /** None was accepted after them. */
  #latest: readonly RefusedWebhooks[] = [];
  /** One was accepted after them, and the inbox does not say yet that they may have been missed. */
  followed: readonly RefusedWebhooks[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  get all(): readonly RefusedWebhooks[] {
    return [...this.followed, ...this.#latest];
  }

  /** Takes over what an earlier run refused. */
  continue(refused: readonly RefusedWebhooks[]): void {
    this.#latest = refused.reduce<readonly RefusedWebhooks[]>(joined, []);
  }

  refused({ reason, seen, body }: Refusal): void {
    const storeReason = STORE_REFUSALS.find((each) => each === reason);
    if (storeReason === undefined || body === undefined) return;
    const variantIds = this.#variantsOf(body);
    if (variantIds.length === 0) return;
    this.#latest = joined(this.#latest, {
      reason: storeReason,
      count: 1,
      sinceMs: this.#now(),
      seen: seen ?? null,
      variantIds,
    });
  }

  /** A webhook of the store was accepted. */
  accepted(): void {
    this.followed = this.#latest.reduce(joined, this.followed);
    this.#latest = [];
  }

  /** Begins the time in which a few more bodies are looked at. */
  lookAgain(): void {
    this.#bodiesLookedAt = 0;
  }

  #variantsOf(body: Uint8Array): readonly string[] {
    if (body.byteLength > MAX_LOOKED_AT_BYTES || this.#bodiesLookedAt >= BODIES_LOOKED_AT) return [];
    this.#bodiesLookedAt += 1;
    return (variantIdsOf(body) ?? []).slice(0, VARIANTS_SHOWN);
  }
}

function joined(before: readonly RefusedWebhooks[], later: RefusedWebhooks): readonly RefusedWebhooks[] {
  const earlier = before.find(({ reason }) => reason === later.reason);
  if (earlier === undefined) return [...before, later];
  const both: RefusedWebhooks = {
    ...later,
    count: earlier.count + later.count,
    sinceMs: earlier.sinceMs,
    variantIds: [...earlier.variantIds, ...later.variantIds].slice(-VARIANTS_SHOWN),
  };
  return before.map((each) => (each === earlier ? both : each));
}
