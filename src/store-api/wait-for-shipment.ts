/** Waits until the courier booking of an order is complete. docs/store-api.md#post-v1ordercreate. */
import type { CallOptions } from './endpoints/call.ts';
import type { ServiceClient } from './client.ts';
import { ORDER_DETAIL_ENDPOINT } from './endpoints/orders.ts';
import { ServiceError } from './transport/errors.ts';
import type { ServiceErrorInit, ServiceErrorKind } from './transport/errors.ts';
import type { Order } from './contract/order-schemas.ts';

export interface WaitOptions extends Pick<CallOptions, 'signal'> {
  /** How long to wait at most; default 60 s. */
  readonly timeoutMs?: number;
}

interface WaitDeps {
  readonly client: Pick<ServiceClient, 'orderDetail'>;
  /** Ends early when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Monotonic. */
  readonly now: () => number;
  /** The client was closed. */
  readonly closing: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const LONGEST_TIMEOUT_MS = 2_147_483_647;
/** Bookings take a moment or minutes: the first looks are close together. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
const GROWTH = 1.5;

/**
 * @param orderId the store's id of the order.
 * @returns the order with its shipments.
 * @throws ServiceError; `unavailable` when the time is over, `rejected` with 404 when there is no such order. A store
 * that cannot be reached for a while is asked again until the time is over.
 */
export async function waitForShipment(
  { client, sleep, now, closing }: WaitDeps,
  orderId: string,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal }: WaitOptions = {},
): Promise<Order> {
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 0 || timeoutMs > LONGEST_TIMEOUT_MS) {
    throw new RangeError(
      `timeoutMs must be a whole number from 0 to ${LONGEST_TIMEOUT_MS}, not ${String(timeoutMs)}`,
    );
  }
  const endMs = now() + timeoutMs;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const own = signal === undefined ? closing : AbortSignal.any([signal, closing]);
  const ending = AbortSignal.any([own, late.signal]);
  let failure: ServiceError | undefined;
  let wasSeen = false;
  try {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * GROWTH)) {
      try {
        const read = await client.orderDetail({ order_id: orderId }, { signal: ending });
        if (read.outcome === 'not_found')
          throw failed('rejected', `the store has no order ${orderId}`, { status: 404, code: 'not_found' });
        if ((read.order.shipments?.length ?? 0) > 0) return read.order;
        failure = undefined;
        wasSeen = true;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const isTransient = error.kind === 'unavailable' || error.kind === 'rate_limited';
        if (isTransient) failure = error;
        // The end of this wait cut the read off: reported below.
        else if (error.kind !== 'aborted' || own.aborted) throw error;
      }
      const leftMs = late.signal.aborted ? 0 : endMs - now();
      if (leftMs > 0 && !own.aborted)
        await sleep(Math.min(leftMs, Math.max(pauseMs, failure?.retryAfterMs ?? 0)), ending);
      if (own.aborted) throw failed('aborted', 'aborted while waiting for a shipment');
      if (leftMs > 0) continue;
      const unseen = wasSeen ? 'the courier has not booked it yet' : 'the store did not answer in time';
      const why = failure === undefined ? unseen : `the store could not be asked: ${failure.description}`;
      const problem = `order ${orderId} has no shipment after ${timeoutMs} ms: ${why}`;
      throw failed('unavailable', problem, { cause: failure });
    }
  } finally {
    clearTimeout(timer);
  }
}

function failed(
  kind: ServiceErrorKind,
  description: string,
  more: Pick<ServiceErrorInit, 'status' | 'code' | 'cause'> = {},
): ServiceError {
  return new ServiceError({ kind, endpoint: ORDER_DETAIL_ENDPOINT, description, ...more });
}
