import { createHmac } from 'node:crypto';
import { STOCK_AVAILABLE_UPDATED } from '../service/schemas.ts';
import type { SentItem } from './answers.ts';
import type { Clock } from './clock.ts';
import type { Change } from './model.ts';

export type { SentItem };

/** One webhook request, ready to send: a repeat sends the same bytes. */
export type Delivery = {
  readonly requestId: string;
  readonly requestTimeMs: number;
  readonly items: readonly SentItem[];
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
};

export type Sealer = {
  /** The webhook secret. Set it to replace it. */
  secret: string;
  readonly seal: (changes: readonly Change[]) => Delivery;
};

/**
 * Makes signed deliveries ("Events": Request, stock_available_updated payload, Signature).
 *
 * * @param deps.serial distinguishes the request ids of several sealers.
 */
export function createSealer(deps: { secret: string; clock: Clock; serial: number }): Sealer {
  const { clock } = deps;
  // From the clock, not the seed: a restarted sandbox must not repeat ids to the same receiver.
  const runPart = Math.round(clock.baseNow()).toString(36);
  let count = 0;

  const sealer: Sealer = {
    secret: deps.secret,
    seal: (changes) => {
      count += 1;
      const requestId = `whk_${runPart}_${deps.serial}_${String(count).padStart(8, '0')}`;
      const requestTimeMs = clock.now();
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
          'X-Service-Signature': sign(body, sealer.secret),
          'User-Agent': 'service-webhook/1.0',
        },
      };
    },
  };
  return sealer;
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
