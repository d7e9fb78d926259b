/** One signed webhook, as the store would send it, and the answer. */
import { randomUUID } from 'node:crypto';
import { STOCK_AVAILABLE_UPDATED } from '../../store-api/contract/schemas.ts';
import type { fetchDirectly } from '../../platform/proxy.ts';
import { signBody } from '../../store-api/signature.ts';
import { safeText } from '../../store-api/transport/safe-text.ts';

/** The store takes a 2xx for an acknowledgement only within this time (docs/store-api.md#delivery-rules, 1). */
const ACKNOWLEDGED_WITHIN_MS = 1_000;
const TIMEOUT_MS = 10_000;

interface Answered {
  readonly status: number;
  readonly isOk: boolean;
  readonly tookMs: number;
  readonly isAcknowledged: boolean;
  readonly text: string;
}

/** @param items without any, nothing in the mirror changes, except that it has received a delivery. */
export function deliveryOf(items: readonly object[], nowMs: number): Uint8Array {
  // An event of an unknown type would make the mirror re-read products to find out what it meant. An empty delivery
  // does not.
  const envelope = {
    request_id: `test-${randomUUID()}`,
    event_type: STOCK_AVAILABLE_UPDATED,
    request_time: nowMs,
    data: { items },
  };
  return new TextEncoder().encode(JSON.stringify(envelope));
}

type Fetch = typeof fetchDirectly;

/** @throws Error when nothing answers. */
export async function sendSigned(
  send: Fetch,
  url: string,
  body: Uint8Array,
  secret: string,
): Promise<Answered> {
  const startedAtMs = performance.now();
  const response = await post(send, url, body, signBody(secret, body));
  const text = safeText(await response.text(), []);
  const tookMs = Math.round((performance.now() - startedAtMs) * 10) / 10;
  const isAcknowledged = response.ok && tookMs <= ACKNOWLEDGED_WITHIN_MS;
  return { status: response.status, isOk: response.ok, tookMs, isAcknowledged, text };
}

async function post(send: Fetch, url: string, body: Uint8Array, signature: string) {
  try {
    return await send(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'x-service-signature': signature,
        // As the store's, so that a firewall treats both alike.
        'user-agent': 'service-webhook/1.0',
      },
      body: Buffer.from(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const remedy = 'is the mirror running, and are HOST and PORT, or --url, right?';
    throw new Error(`no answer from ${url}: ${remedy}`, { cause: error });
  }
}
