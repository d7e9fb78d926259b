/** The client with retries: for every read, and for an order that cannot be created twice. */
import type { CallOptions } from './endpoints/call.ts';
import type { ServiceClient } from './client.ts';
import { checkRequest } from './endpoints/check-request.ts';
import { CREATE_ORDER_ENDPOINT } from './endpoints/order-create.ts';
import { createOrderRequestSchema } from './contract/order-schemas.ts';
import type { Retry } from './retry.ts';

const REPEATABLE = { isRepeatable: true };

/** Closing the client ends its waits too. */
export function withRetries(client: ServiceClient, retry: Retry): ServiceClient {
  const closing = new AbortController();

  function tried<T>(
    kind: { readonly isRepeatable: boolean },
    call: (options?: CallOptions) => Promise<T>,
    options: CallOptions = {},
  ): Promise<T> {
    const { signal } = options;
    const ending = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
    return retry(kind, () => call(options), ending);
  }

  return {
    listProducts: (request, options) =>
      tried(REPEATABLE, (given) => client.listProducts(request, given), options),
    productDetail: (productId, options) =>
      tried(REPEATABLE, (given) => client.productDetail(productId, given), options),
    orderDetail: (request, options) =>
      tried(REPEATABLE, (given) => client.orderDetail(request, given), options),
    listAddresses: (request, options) =>
      tried(REPEATABLE, (given) => client.listAddresses(request, given), options),
    createOrder: async (request, options) => {
      const checked = checkRequest(CREATE_ORDER_ENDPOINT, createOrderRequestSchema, request);
      // A copy: should the caller change the request meanwhile, a retry would create another order than the one that
      // failed.
      const order = structuredClone(request);
      return tried(
        { isRepeatable: isIdempotent(checked) },
        (given) => client.createOrder(order, given),
        options,
      );
    },
    close: () => {
      closing.abort();
      return client.close();
    },
  };
}

/**
 * Only the id makes the store answer the order that exists already ("POST /v1/order/create" rules 1 and 2). The
 * contract does not say whether an empty id is one.
 */
function isIdempotent({ external_order_id }: { readonly external_order_id?: string | undefined }): boolean {
  return external_order_id !== undefined && external_order_id !== '';
}
