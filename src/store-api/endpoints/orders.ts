import {
  addressListRequestSchema,
  addressListResponseSchema,
  orderDetailRequestSchema,
  orderResponseSchema,
  sentOrderSchema,
  type AddressListRequest,
  type AddressListResponse,
  type CreateOrderRequest,
  type Order,
  type OrderDetailRequest,
} from '../contract/order-schemas.ts';
import { readOne, type Answered, type Call, type CallOptions, type NotFound } from './call.ts';

export const ADDRESS_LIST_ENDPOINT = '/v1/store/address/list';
export const CREATE_ORDER_ENDPOINT = '/v1/order/create';
export const ORDER_DETAIL_ENDPOINT = '/v1/order/detail';

export interface CreateOrderAnswer extends Answered {
  /** Without `shipments` until a courier is booked: read it again with `orderDetail`. */
  readonly order: Order;
  /** The order's JSON object as received, with unknown fields. */
  readonly rawOrder: unknown;
}

/** Not found: deleted, never existed, another store's, or an external id that this channel has not used. */
export type OrderDetailAnswer = FoundOrder | NotFound;

interface FoundOrder extends CreateOrderAnswer {
  readonly outcome: 'found';
}

export interface AddressListAnswer extends Answered {
  readonly page: AddressListResponse;
}

export interface OrderClient {
  /**
   * Creates one order and reserves its stock; the courier's tracking number follows when it is ready to ship, unless
   * `auto_request_xshipping` is false. For an `external_order_id` that this channel has used, the store answers that
   * order; without one, each request creates another. @param request money in baht, times in epoch ms, ids as digits.
   * @throws ServiceError. `rejected`: nothing was created. After `unavailable`, `aborted`, or `contract` with a 2xx,
   * the order may have been created.
   */
  createOrder(request: CreateOrderRequest, options?: CallOptions): Promise<CreateOrderAnswer>;
  /**
   * Any order by `order_id`, this channel's by `external_order_id`. The answer for another order is a `contract` error.
   */
  orderDetail(request: OrderDetailRequest, options?: CallOptions): Promise<OrderDetailAnswer>;
  /** One page of the store's addresses, the default sender first. Their ids never change. */
  listAddresses(request?: AddressListRequest, options?: CallOptions): Promise<AddressListAnswer>;
}

export function orderClient(call: Call): OrderClient {
  return {
    async createOrder(body, options) {
      const schemas = { requestSchema: sentOrderSchema, answerSchema: orderResponseSchema };
      const request = { endpoint: CREATE_ORDER_ENDPOINT, ...schemas, body };
      const { value, json, ...answered } = await call(request, options);
      return { order: value.order, rawOrder: (json as { order: unknown }).order, ...answered };
    },
    async orderDetail(body, options) {
      const schemas = { requestSchema: orderDetailRequestSchema, answerSchema: orderResponseSchema };
      const request = { endpoint: ORDER_DETAIL_ENDPOINT, ...schemas, body };
      const answer = await readOne(call, request, options, ({ order }) => mismatch(body, order));
      if (answer.outcome === 'not_found') return answer;
      const { value, json, ...answered } = answer;
      return { order: value.order, rawOrder: (json as { order: unknown }).order, ...answered };
    },
    async listAddresses(body = {}, options) {
      const schemas = { requestSchema: addressListRequestSchema, answerSchema: addressListResponseSchema };
      const {
        value: page,
        json: _,
        ...answered
      } = await call({ endpoint: ADDRESS_LIST_ENDPOINT, ...schemas, body }, options);
      return { page, ...answered };
    },
  };
}

/** An error is better than shipping a parcel with another order's tracking number. */
function mismatch({ order_id, external_order_id }: OrderDetailRequest, order: Order): string | null {
  if (typeof order_id === 'string')
    return order_id === order.id ? null : `asked for order ${order_id}, answered order ${order.id}`;
  const answered = order.external_order_id;
  // The order's fields are hardly documented, so an absent one does not count.
  if (answered === undefined || answered === external_order_id) return null;
  return `asked for external_order_id ${external_order_id}, answered ${answered}`;
}
