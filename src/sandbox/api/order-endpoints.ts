import {
  createOrderRequestSchema,
  orderDetailRequestSchema,
} from '../../store-api/contract/order-schemas.ts';
import { requireAccess } from '../shared/access.ts';
import type { Access } from '../shared/access.ts';
import { orderEnvelope } from '../world/answers.ts';
import { endpoint } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from '../shared/errors.ts';
import type { FoundOrder, OrderBook } from '../orders/order-book.ts';
import type { OrderDesk } from '../orders/order-desk.ts';
import { renderOrder } from '../orders/order-render.ts';

export function orderEndpoints(deps: {
  readonly access: Access;
  readonly desk: OrderDesk;
  readonly book: OrderBook;
}): Endpoint[] {
  const { access, desk, book } = deps;

  const envelope = (requestId: string, order: FoundOrder) => ({
    request_id: requestId,
    order: renderOrder(order),
  });

  return [
    endpoint({
      path: '/v1/order/create',
      summary: 'Creates an order, or returns the existing one with its external_order_id',
      schema: createOrderRequestSchema,
      bodyOptional: false,
      answers: orderEnvelope,
      errors: { 403: ['access_denied', 'quota_exceeded'] },
      // Nothing here waits, so two requests with the same external_order_id cannot both find none.
      answer: (body, { requestId, clientId }) => {
        requireAccess(access);
        return envelope(requestId, desk.place(body, clientId));
      },
    }),
    endpoint({
      path: '/v1/order/detail',
      summary: 'Reads the current state of an order',
      schema: orderDetailRequestSchema,
      bodyOptional: false,
      answers: orderEnvelope,
      errors: { 403: ['access_denied'], 404: ['not_found'] },
      answer: ({ order_id: id, external_order_id: externalId }, { requestId, clientId }) => {
        requireAccess(access);
        const order = id === undefined ? book.findExternal(clientId, externalId) : book.find(id);
        if (order === undefined) throw new ApiError(404, 'not_found', 'no such order');
        return envelope(requestId, order);
      },
    }),
  ];
}
