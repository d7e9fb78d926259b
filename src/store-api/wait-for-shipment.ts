/** Waits until the courier booking of an order is complete. docs/store-api.md#post-v1ordercreate. */
import type { CallOptions } from './endpoints/call.ts';
import type { ServiceClient } from './client.ts';
import { ServiceError } from './transport/errors.ts';
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

const ENDPOINT = '/v1/order/detail';
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
  let failure = null as ServiceError | null;
  let wasSeen = false;
  try {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * GROWTH)) {
      const read = await client
        .orderDetail({ order_id: orderId }, { signal: ending })
        .catch((error: unknown) => {
          if (!(error instanceof ServiceError)) throw error;
          // Cut off by this wait's own end, which is told below.
          if (error.kind === 'aborted' && !own.aborted) return null;
          if (error.kind !== 'unavailable' && error.kind !== 'rate_limited') throw error;
          failure = error;
          return null;
        });
      if (read?.outcome === 'not_found') throw gone(orderId);
      if (read !== null && (read.order.shipments?.length ?? 0) > 0) return read.order;
      if (read !== null) {
        failure = null;
        wasSeen = true;
      }
      if (own.aborted) throw stopped();
      const leftMs = endMs - now();
      if (leftMs <= 0 || late.signal.aborted) throw tooLate(orderId, timeoutMs, { failure, wasSeen });
      await sleep(Math.min(leftMs, Math.max(pauseMs, failure?.retryAfterMs ?? 0)), ending);
      if (own.aborted) throw stopped();
    }
  } finally {
    clearTimeout(timer);
  }
}

function gone(orderId: string): ServiceError {
  return new ServiceError({
    kind: 'rejected',
    endpoint: ENDPOINT,
    status: 404,
    code: 'not_found',
    description: `the store has no order ${orderId}`,
  });
}

function stopped(): ServiceError {
  return new ServiceError({
    kind: 'aborted',
    endpoint: ENDPOINT,
    description: 'aborted while waiting for a shipment',
  });
}

/** What the looks came to: the last one failed, or the order was there without a shipment. */
function tooLate(
  orderId: string,
  timeoutMs: number,
  { failure, wasSeen }: { readonly failure: ServiceError | null; readonly wasSeen: boolean },
): ServiceError {
  const unseen = wasSeen ? 'the courier has not booked it yet' : 'the store did not answer in time';
  const why = failure === null ? unseen : `the store could not be asked: ${failure.description}`;
  return new ServiceError({
    kind: 'unavailable',
    endpoint: ENDPOINT,
    description: `order ${orderId} has no shipment after ${timeoutMs} ms: ${why}`,
    ...(failure === null ? {} : { cause: failure }),
  });
}
