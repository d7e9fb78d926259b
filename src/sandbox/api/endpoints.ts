import type { z } from 'zod';
import {
  addressListRequestSchema,
  createOrderRequestSchema,
  orderDetailRequestSchema,
} from '../../store-api/contract/order-schemas.ts';
import { productDetailRequestSchema, productListRequestSchema } from '../../store-api/contract/schemas.ts';
import type { Answer } from '../network/reads.ts';
import type { Store } from '../store.ts';
import { ApiError } from '../shared/errors.ts';
import { Listing, pageOf } from '../world/listing.ts';
import { renderOrder } from '../world/orders.ts';
import { imageUrl } from '../world/render.ts';

interface RequestContext {
  readonly requestId: string;
  readonly ageMs: number;
}

export interface Endpoint {
  readonly path: string;
  readonly schema: z.ZodObject;
  readonly bodyOptional?: boolean;
  /** A channel may be denied it. */
  readonly isDeniable?: boolean;
  answer(body: Record<string, unknown>, context: RequestContext): Answer;
}

export function endpointsOf(store: Store): Endpoint[] {
  const { access, addresses, orderDesk, truth } = store;
  const { orders } = store.operations;
  const listing = new Listing(truth);

  const endpoint = <Schema extends z.ZodObject>(
    definition: Omit<Endpoint, 'schema' | 'answer'> & {
      readonly schema: Schema;
      answer(body: z.output<Schema>, context: RequestContext): Answer['body'];
    },
  ): Endpoint => ({
    ...definition,
    answer: (body, context) => {
      if (access.accessDenied && definition.isDeniable === true) {
        throw new ApiError(403, 'access_denied', 'the channel may not do that for its store');
      }
      return { status: 200, body: definition.answer(body as z.output<Schema>, context) };
    },
  });

  return [
    endpoint({
      path: '/v1/order/create',
      schema: createOrderRequestSchema,
      isDeniable: true,
      // Synchronous, so two requests with the same external_order_id cannot both find none.
      answer: (body, { requestId }) => {
        return { request_id: requestId, order: renderOrder(orderDesk.place(body)) };
      },
    }),
    endpoint({
      path: '/v1/order/detail',
      schema: orderDetailRequestSchema,
      isDeniable: true,
      answer: ({ order_id: id, external_order_id: externalId }, { requestId }) => {
        const order = id === undefined ? orders.findExternal(externalId) : orders.find(id);
        if (order === undefined) throw new ApiError(404, 'not_found', 'no such order');
        return { request_id: requestId, order: renderOrder(order) };
      },
    }),
    endpoint({
      path: '/v1/store/address/list',
      schema: addressListRequestSchema,
      bodyOptional: true,
      isDeniable: true,
      answer: ({ limit = 100, offset = 0 }, { requestId }) => {
        const { page, ...rest } = pageOf(addresses, { limit, offset });
        return { request_id: requestId, addresses: page, ...rest };
      },
    }),
    endpoint({
      path: '/v1/product/list',
      schema: productListRequestSchema,
      bodyOptional: true,
      answer: ({ limit = 20, offset = 0, ...list }, { requestId }) => {
        const all = listing.products(list);
        const { page, ...rest } = pageOf(all, { limit, offset });
        return {
          request_id: requestId,
          products: page.map((product) => ({
            id: product.id,
            name: product.name,
            ...(product.imageCount > 0 && { image_url: imageUrl(product, 0) }),
          })),
          ...(list.get_count === true && { total: all.length }),
          ...rest,
        };
      },
    }),
    endpoint({
      path: '/v1/product/detail',
      schema: productDetailRequestSchema,
      answer: (body, { requestId, ageMs }) => {
        const product = truth.detail(body.product_id, ageMs);
        if (product === null) throw new ApiError(404, 'not_found', 'no such product');
        return { request_id: requestId, product };
      },
    }),
  ];
}
