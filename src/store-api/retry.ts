/** For programs that call the store now and then (docs/client-library.md#retries). The mirror paces its own reads. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fullJitterMs, type BackoffPolicy } from './backoff.ts';
import { sentOrderSchema } from './contract/order-schemas.ts';
import type { ServiceClient } from './client.ts';
import { checkRequest, type CallOptions } from './endpoints/call.ts';
import { CREATE_ORDER_ENDPOINT } from './endpoints/orders.ts';
import { ServiceError } from './transport/errors.ts';
import { TOKEN_ENDPOINT } from './token/token-request.ts';

export interface RetryPolicy extends BackoffPolicy {
  /** Including the first; 1 disables retries. */
  readonly attempts: number;
  /** A longer pause requested by the store is left to the caller. */
  readonly maxWaitMs: number;
}

/** The store counts token requests per minute, so its pauses are rarely longer. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 4,
  baseMs: 500,
  capMs: 10_000,
  maxWaitMs: 60_000,
};

/**
 * Delay before a retry in ms; null: none. 429 waits at least for its `Retry-After`. A 5xx, network failure or timeout
 * waits with full jitter, and is final for a call that must not run twice. All else is final.
 * @param failures 1 or more. @param isRepeatable twice has the same effect as once. @param random in [0, 1).
 */
export function retryDelayMs(
  error: unknown,
  {
    failures,
    isRepeatable,
    policy,
    random,
  }: { failures: number; isRepeatable: boolean; policy: RetryPolicy; random: number },
): number | null {
  if (!(error instanceof ServiceError) || failures >= policy.attempts) return null;
  const { kind, endpoint, retryAfterMs = 0 } = error;
  // Without a token, the call did not run.
  const isSafe = isRepeatable || endpoint === TOKEN_ENDPOINT;
  if (kind !== 'rate_limited' && !(kind === 'unavailable' && isSafe)) return null;
  if (retryAfterMs > policy.maxWaitMs) return null;
  // Jitter on top of the pause, so that clients with the same answer do not return at the same instant.
  return retryAfterMs + fullJitterMs(failures, policy, random);
}

/**
 * Retries reads, and orders that cannot be created twice. Rejects with the last attempt's error, or as `aborted` if its
 * signal or closing ended a wait. @throws RangeError for a policy without a first attempt.
 */
export function withRetries(client: ServiceClient, policy: RetryPolicy): ServiceClient {
  if (!Number.isInteger(policy.attempts) || policy.attempts < 1)
    throw new RangeError(`attempts must be a whole number of at least 1, not ${policy.attempts}`);
  const closing = new AbortController();

  async function tried<T>(
    attempt: () => Promise<T>,
    { signal }: CallOptions = {},
    { isRepeatable } = { isRepeatable: true },
  ): Promise<T> {
    const ending = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
    for (let failures = 1; ; failures += 1) {
      try {
        return await attempt();
      } catch (error) {
        const delayMs = retryDelayMs(error, { failures, isRepeatable, policy, random: Math.random() });
        if (delayMs === null) throw error;
        // Rejects only when aborted, which is reported below.
        await sleep(delayMs, undefined, { signal: ending }).catch(() => undefined);
        if (!ending.aborted) continue;
        const { endpoint, requestId, description } = error as ServiceError;
        const why = `aborted while waiting to try again after: ${description}`;
        throw new ServiceError({ kind: 'aborted', endpoint, requestId, description: why, cause: error });
      }
    }
  }

  return {
    listProducts: (request, options) => tried(() => client.listProducts(request, options), options),
    productDetail: (id, options) => tried(() => client.productDetail(id, options), options),
    orderDetail: (request, options) => tried(() => client.orderDetail(request, options), options),
    listAddresses: (request, options) => tried(() => client.listAddresses(request, options), options),
    createOrder: async (request, options) => {
      // The caller may change the request before a retry.
      const order = structuredClone(request);
      // Only with an id does the store answer an existing order. The contract does not say whether an empty one counts.
      const { external_order_id: id = '' } = checkRequest(CREATE_ORDER_ENDPOINT, sentOrderSchema, order);
      return tried(() => client.createOrder(order, options), options, { isRepeatable: id !== '' });
    },
    close: () => {
      closing.abort();
      return client.close();
    },
  };
}
