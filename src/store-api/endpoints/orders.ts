/** POST /v1/order/create, POST /v1/order/detail and POST /v1/store/address/list. */
import { ServiceError } from '../transport/errors.ts';
import {
  addressListRequestSchema,
  addressListResponseSchema,
  createOrderRequestSchema,
  orderDetailRequestSchema,
  orderResponseSchema,
} from '../contract/order-schemas.ts';
import type {
  AddressListRequest,
  AddressListResponse,
  CreateOrderRequest,
  Order,
  OrderDetailRequest,
} from '../contract/order-schemas.ts';
import { notFoundIn } from './call.ts';
import type { Answered, Call, CallOptions, NotFound } from './call.ts';

export const ADDRESS_LIST_ENDPOINT = '/v1/store/address/list';
export const CREATE_ORDER_ENDPOINT = '/v1/order/create';
export const ORDER_DETAIL_ENDPOINT = '/v1/order/detail';

export interface CreateOrderAnswer extends Answered {
  /** Without `shipments` until a courier is booked: read it again with `orderDetail`. */
  readonly order: Order;
  /** The order's JSON object as the store sent it, unknown fields kept. */
  readonly rawOrder: unknown;
}

/**
 * Creates one order. Stock is reserved at once; a tracking number is requested from the courier when the order is ready
 * to ship, unless `auto_request_xshipping` is false.
 *
 * `external_order_id` makes it safe to send again: if this channel already has an order with that id, the store
 * answers that order and creates no second one. Without it each request creates another order.
 *
 * @param request money in baht, times in epoch ms, ids as strings of digits.
 * @throws ServiceError. `rejected`: nothing was created. After `unavailable`, `aborted`, or `contract` with a 2xx, the
 * order may have been created all the same.
 */
export async function createOrder(
  call: Call,
  request: CreateOrderRequest,
  options?: CallOptions,
): Promise<CreateOrderAnswer> {
  const { value, json, ...answered } = await call(
    {
      endpoint: CREATE_ORDER_ENDPOINT,
      requestSchema: createOrderRequestSchema,
      answerSchema: orderResponseSchema,
      body: request,
    },
    options,
  );
  return { order: value.order, rawOrder: (json as { order: unknown }).order, ...answered };
}

/** Not found: deleted, never existed, another store's, or an external id that this channel has not used. */
export type OrderDetailAnswer = FoundOrder | NotFound;

interface FoundOrder extends CreateOrderAnswer {
  readonly outcome: 'found';
}

/**
 * Reads one order in its present state: by the store's own id any order of the store, by the caller's own id those
 * that this channel created.
 *
 * @throws ServiceError; of kind `contract` also for another order than the one requested, and for a 404 that is not the
 * store's own.
 */
export async function orderDetail(
  call: Call,
  request: OrderDetailRequest,
  options?: CallOptions,
): Promise<OrderDetailAnswer> {
  let answer;
  try {
    answer = await call(
      {
        endpoint: ORDER_DETAIL_ENDPOINT,
        requestSchema: orderDetailRequestSchema,
        answerSchema: orderResponseSchema,
        body: request,
      },
      options,
    );
  } catch (error) {
    return notFoundIn(error);
  }
  const { value, json, requestId, ...times } = answer;
  const description = mismatch(request, value.order);
  if (description !== null) {
    const endpoint = ORDER_DETAIL_ENDPOINT;
    throw new ServiceError({ kind: 'contract', endpoint, requestId, status: 200, description, times });
  }
  const rawOrder = (json as { order: unknown }).order;
  return { outcome: 'found', order: value.order, rawOrder, requestId, ...times };
}

/** Shipping a parcel by another order's tracking number is worse than an error. */
function mismatch({ order_id, external_order_id }: OrderDetailRequest, order: Order): string | null {
  // Not "is not undefined": null means absent too.
  if (typeof order_id === 'string')
    return order_id === order.id ? null : `asked for order ${order_id}, answered order ${order.id}`;
  const answered = order.external_order_id;
  // The order's fields are hardly documented: an absent one is not a wrong one.
  if (answered === undefined || answered === external_order_id) return null;
  return `asked for external_order_id ${external_order_id}, answered ${answered}`;
}

export interface AddressListAnswer extends Answered {
  readonly page: AddressListResponse;
}

/**
 * Lists one page of the store's own (sender) addresses, the default sender first. The ids never change: read them
 * once and keep them.
 *
 * @param request `limit` 1 to 200, default 100; `offset` from 0.
 * @throws ServiceError.
 */
export async function listAddresses(
  call: Call,
  request: AddressListRequest = {},
  options?: CallOptions,
): Promise<AddressListAnswer> {
  const asked = {
    endpoint: ADDRESS_LIST_ENDPOINT,
    requestSchema: addressListRequestSchema,
    answerSchema: addressListResponseSchema,
    body: request,
  };
  const { value, json: _, ...answered } = await call(asked, options);
  return { page: value, ...answered };
}
