import { createOrderRequestSchema, orderDetailRequestSchema } from '../service/order-schemas.ts';
import { requireAccess } from './access.ts';
import type { Access } from './access.ts';
import { endpoint } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from './errors.ts';
import type { FoundOrder, OrderBook } from './order-book.ts';
import type { OrderDesk } from './order-desk.ts';
import { renderOrder } from './order-render.ts';
import type { Answer } from './reads.ts';

export function orderEndpoints(deps: { access: Access; desk: OrderDesk; book: OrderBook }): Endpoint[] {
  const { access, desk, book } = deps;

  const envelope = (requestId: string, order: FoundOrder): Answer => ({
    status: 200,
    body: { request_id: requestId, order: renderOrder(order) },
  });

  return [
    endpoint({
      path: '/v1/order/create',
      schema: createOrderRequestSchema,
      bodyOptional: false,
      // Nothing here waits, so that two requests with one external_order_id cannot both find none.
      answer: (body, { requestId, clientId }) => {
        requireAccess(access);
        return envelope(requestId, desk.place(body, clientId));
      },
    }),
    endpoint({
      path: '/v1/order/detail',
      schema: orderDetailRequestSchema,
      bodyOptional: false,
      answer: ({ order_id: id, external_order_id: externalId }, { requestId, clientId }) => {
        requireAccess(access);
        const order = id === undefined ? book.findExternal(clientId, externalId!) : book.find(id);
        if (order === undefined) throw new ApiError(404, 'not_found', 'no such order');
        return envelope(requestId, order);
      },
    }),
  ];
}
