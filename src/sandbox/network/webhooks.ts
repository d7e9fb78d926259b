import { createHmac } from 'node:crypto';
import { STOCK_AVAILABLE_UPDATED } from '../../store-api/contract/schemas.ts';
import type { SentItem } from '../world/ledger.ts';

export type { SentItem };

export interface Delivery {
  readonly requestId: string;
  readonly requestTimeMs: number;
  readonly items: readonly SentItem[];
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** "Events": Request, stock_available_updated payload, Signature. */
export function seal(
  items: readonly SentItem[],
  by: { readonly requestId: string; readonly requestTimeMs: number; readonly secret: string },
): Delivery {
  const { requestId, requestTimeMs, secret } = by;
  const body = Buffer.from(
    JSON.stringify({
      request_id: requestId,
      event_type: STOCK_AVAILABLE_UPDATED,
      request_time: requestTimeMs,
      data: { items },
    }),
  );
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Signature': sign(body, secret),
    'User-Agent': 'service-webhook/1.0',
  };
  return { requestId, requestTimeMs, items, body, headers };
}

export function sign(body: Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
