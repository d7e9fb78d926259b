/** POST /v1/order/create. */
import type { Call, CallOptions } from './call.ts';
import type { AnswerTimes } from '../transport/errors.ts';
import { createOrderRequestSchema, orderResponseSchema } from '../contract/order-schemas.ts';
import type { CreateOrderRequest, Order } from '../contract/order-schemas.ts';

export interface CreateOrderAnswer extends AnswerTimes {
  /** Without `shipments` as long as no courier is booked: read it again with `orderDetail`. */
  readonly order: Order;
  /** The order's JSON object as the store sent it, unknown fields kept. */
  readonly rawOrder: unknown;
  readonly requestId: string;
}

export const CREATE_ORDER_ENDPOINT = '/v1/order/create';

/**
 * Creates one order (docs/store-api.md#post-v1ordercreate). Stock is reserved at once; a tracking number is requested
 * from the courier when the order is ready to ship, unless `auto_request_xshipping` is false.
 *
 * `external_order_id` makes it safe to send again: if this channel already has an order with that id, the store
 * answers that order and creates no second one. Without it each request creates another order.
 *
 * @param request money in baht, times in epoch ms, ids as strings of digits.
 * @throws ServiceError. `rejected`: 400, 403 `access_denied` or `quota_exceeded`, 413; nothing was created. After
 * `unavailable`, `aborted`, or `contract` with a 2xx, the order may have been created all the same.
 */
export async function createOrder(
  call: Call,
  request: CreateOrderRequest,
  options?: CallOptions,
): Promise<CreateOrderAnswer> {
  const { value, json, ...rest } = await call(
    {
      endpoint: CREATE_ORDER_ENDPOINT,
      requestSchema: createOrderRequestSchema,
      answerSchema: orderResponseSchema,
      body: request,
    },
    options,
  );
  return { order: value.order, rawOrder: (json as { order: unknown }).order, ...rest };
}
