import { createHmac } from 'node:crypto';
import { STOCK_AVAILABLE_UPDATED } from '../../store-api/contract/schemas.ts';
import type { SentItem } from '../world/answers.ts';
import type { Clock } from '../world/clock.ts';
import type { Change } from '../world/model.ts';

export type { SentItem };

/** One webhook request, ready to send: a repeat sends the same bytes. */
export interface Delivery {
  readonly requestId: string;
  readonly requestTimeMs: number;
  readonly items: readonly SentItem[];
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

interface SealerDeps {
  readonly secret: string;
  readonly clock: Clock;
  /** Distinguishes the request ids of several sealers. */
  readonly serial: number;
}

/** Makes signed deliveries ("Events": Request, stock_available_updated payload, Signature). */
export class Sealer {
  /** The webhook secret. Set it to replace it. */
  secret: string;
  readonly #clock: Clock;
  readonly #prefix: string;
  #count = 0;

  constructor({ secret, clock, serial }: SealerDeps) {
    this.secret = secret;
    this.#clock = clock;
    // From the clock, not the seed: a restarted sandbox must not repeat ids to the same receiver.
    this.#prefix = `whk_${Math.round(clock.baseNow()).toString(36)}_${serial}`;
  }

  seal(changes: readonly Change[]): Delivery {
    this.#count += 1;
    const requestId = `${this.#prefix}_${String(this.#count).padStart(8, '0')}`;
    const requestTimeMs = this.#clock.now();
    const items = changes.map(itemOf);
    const body = Buffer.from(
      JSON.stringify({
        request_id: requestId,
        event_type: STOCK_AVAILABLE_UPDATED,
        request_time: requestTimeMs,
        data: { items },
      }),
    );
    return {
      requestId,
      requestTimeMs,
      items,
      body,
      headers: {
        'Content-Type': 'application/json',
        'X-Service-Signature': sign(body, this.secret),
        'User-Agent': 'service-webhook/1.0',
      },
    };
  }
}

/** Lowercase hex HMAC-SHA256 over the raw bytes. */
export function sign(body: Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

function itemOf(change: Change): SentItem {
  return {
    id: change.variantId,
    sku: change.sku,
    old: change.old,
    new: change.new,
    warehouse_id: change.warehouseId,
    update_time: change.updateTimeMs,
    reason: change.reason,
    ...(change.orderId !== undefined && { order_id: change.orderId }),
    ...(change.userId !== undefined && { user_id: change.userId }),
  };
}
