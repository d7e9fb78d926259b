import type { CallOptions } from './endpoints/call.ts';
import type { ServiceClient } from './client.ts';
import { ORDER_DETAIL_ENDPOINT } from './endpoints/orders.ts';
import { ServiceError, type ServiceErrorInit } from './transport/errors.ts';
import type { Order } from './contract/order-schemas.ts';

export interface WaitOptions extends Pick<CallOptions, 'signal'> {
  /** Default 60 s. */
  readonly timeoutMs?: number;
}

interface WaitDeps {
  readonly client: Pick<ServiceClient, 'orderDetail'>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly closing: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** Node replaces longer timeouts by 1 ms. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;
/** Bookings take seconds or minutes, so the first checks are close together. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
const GROWTH = 1.5;

/**
 * Waits until an order's courier booking is complete (docs/store-api.md#post-v1ordercreate), with retries.
 * @throws ServiceError: `unavailable` at the timeout, `rejected` with 404 if there is no such order.
 */
export async function waitForShipment(
  { client, sleep, closing }: WaitDeps,
  orderId: string,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal }: WaitOptions = {},
): Promise<Order> {
  const fail = (init: Omit<ServiceErrorInit, 'endpoint'>) =>
    new ServiceError({ endpoint: ORDER_DETAIL_ENDPOINT, ...init });
  const late = AbortSignal.timeout(Math.min(timeoutMs, LONGEST_TIMEOUT_MS));
  const own = signal === undefined ? closing : AbortSignal.any([signal, closing]);
  const ending = AbortSignal.any([own, late]);
  let problem = 'the store did not answer in time';
  let cause: ServiceError | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * GROWTH)) {
    try {
      const read = await client.orderDetail({ order_id: orderId }, { signal: ending });
      if (read.outcome === 'not_found') {
        const description = `the store has no order ${orderId}`;
        throw fail({ kind: 'rejected', status: 404, code: 'not_found', description });
      }
      if ((read.order.shipments?.length ?? 0) > 0) return read.order;
      [problem, cause] = ['the courier has not booked it yet', undefined];
    } catch (error) {
      if (!(error instanceof ServiceError) || own.aborted) throw error;
      if (error.kind === 'unavailable' || error.kind === 'rate_limited')
        [problem, cause] = [`the store could not be asked: ${error.description}`, error];
      else if (error.kind !== 'aborted') throw error;
    }
    await sleep(Math.max(pauseMs, cause?.retryAfterMs ?? 0), ending);
    if (own.aborted) throw fail({ kind: 'aborted', description: 'aborted while waiting for a shipment' });
    if (!late.aborted) continue;
    const description = `order ${orderId} has no shipment after ${timeoutMs} ms: ${problem}`;
    throw fail({ kind: 'unavailable', description, cause });
  }
}
