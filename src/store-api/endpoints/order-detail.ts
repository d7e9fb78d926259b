/** POST /v1/order/detail. */
import type { Call, CallOptions } from './call.ts';
import { ServiceError } from '../transport/errors.ts';
import type { AnswerTimes } from '../transport/errors.ts';
import { notFoundIn } from './not-found.ts';
import type { NotFound } from './not-found.ts';
import { orderDetailRequestSchema, orderResponseSchema } from '../contract/order-schemas.ts';
import type { Order, OrderDetailRequest } from '../contract/order-schemas.ts';

/** Not found: deleted, never existed, another store's, or an external id that this channel has not used. */
export type OrderDetailAnswer = FoundOrder | NotFound;

interface FoundOrder extends AnswerTimes {
  readonly outcome: 'found';
  /** In its present state: with `shipments` once the courier booking is complete. */
  readonly order: Order;
  /** The order's JSON object as the store sent it, unknown fields kept. */
  readonly rawOrder: unknown;
  readonly requestId: string;
}

const ENDPOINT = '/v1/order/detail';

/**
 * Reads one order (docs/store-api.md#post-v1orderdetail): by the store's own id any order of the store, whether
 * entered by hand or not; by the caller's own id those that this channel created.
 *
 * @throws ServiceError; of kind `contract` also when another order is answered than the one asked for, and for a 404
 * that is not the store's own.
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
        endpoint: ENDPOINT,
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
  const { order } = value;
  const mismatch = otherThanAsked(request, order);
  if (mismatch !== null)
    throw new ServiceError({
      kind: 'contract',
      endpoint: ENDPOINT,
      requestId,
      status: 200,
      description: mismatch,
      times,
    });
  return { outcome: 'found', order, rawOrder: (json as { order: unknown }).order, requestId, ...times };
}

/** Shipping a parcel by another order's tracking number is worse than an error. */
function otherThanAsked({ order_id, external_order_id }: OrderDetailRequest, order: Order): string | null {
  // Not "is not undefined": null means absent too.
  if (typeof order_id === 'string')
    return order_id === order.id ? null : `asked for order ${order_id}, answered order ${order.id}`;
  const answered = order.external_order_id;
  // The order's fields are hardly documented: an absent one is not a wrong one.
  if (answered === undefined || answered === external_order_id) return null;
  return `asked for external_order_id ${external_order_id}, answered ${answered}`;
}
