import type { z } from 'zod';
import {
  addressListRequestSchema,
  createOrderRequestSchema,
  orderDetailRequestSchema,
} from '../../store-api/contract/order-schemas.ts';
import { productDetailRequestSchema, productListRequestSchema } from '../../store-api/contract/schemas.ts';
import type { Answer } from '../network/reads.ts';
import type { Store } from '../sandbox.ts';
import { ApiError } from '../shared/errors.ts';
import type { ErrorCode, ErrorStatus } from '../shared/errors.ts';
import {
  addressListAnswer,
  orderEnvelope,
  productDetailAnswer,
  productListAnswer,
} from '../world/answers.ts';
import { Listing, pageOf } from '../world/listing.ts';
import { renderOrder } from '../world/order-render.ts';
import { imageUrl } from '../world/render.ts';

interface Asked {
  readonly requestId: string;
  readonly clientId: string;
  readonly ageMs: number;
}

export type DocumentedErrors = Readonly<Partial<Record<ErrorStatus, readonly ErrorCode[]>>>;

export interface Endpoint {
  readonly path: string;
  readonly summary: string;
  readonly schema: z.ZodObject;
  readonly bodyOptional?: boolean;
  readonly answers: z.ZodObject;
  readonly errors?: DocumentedErrors;
  answer(body: Record<string, unknown>, asked: Asked): Answer;
}

export function endpointsOf(store: Store): Endpoint[] {
  const { access, addresses, losses, orderDesk, truth } = store;
  const { orders } = store.operations;
  const listing = new Listing(truth);

  const endpoint = <Schema extends z.ZodObject, Answers extends z.ZodObject>(
    definition: Omit<Endpoint, 'schema' | 'answers' | 'answer'> & {
      readonly schema: Schema;
      readonly answers: Answers;
      answer(body: z.output<Schema>, asked: Asked): z.input<Answers>;
    },
  ): Endpoint => ({
    ...definition,
    answer: (body, asked) => {
      if (access.accessDenied && definition.errors?.[403] !== undefined) {
        throw new ApiError(403, 'access_denied', 'the channel may not do that for its store');
      }
      return { status: 200, body: definition.answer(body as z.output<Schema>, asked) };
    },
  });

  return [
    endpoint({
      path: '/v1/order/create',
      summary: 'Creates an order, or returns the existing one with its external_order_id',
      schema: createOrderRequestSchema,
      answers: orderEnvelope,
      errors: { 403: ['access_denied', 'quota_exceeded'] },
      // Synchronous, so two requests with the same external_order_id cannot both find none.
      answer: (body, { requestId, clientId }) => {
        return { request_id: requestId, order: renderOrder(orderDesk.place(body, clientId)) };
      },
    }),
    endpoint({
      path: '/v1/order/detail',
      summary: 'Reads the current state of an order',
      schema: orderDetailRequestSchema,
      answers: orderEnvelope,
      errors: { 403: ['access_denied'], 404: ['not_found'] },
      answer: ({ order_id: id, external_order_id: externalId }, { requestId, clientId }) => {
        const order = id === undefined ? orders.findExternal(clientId, externalId) : orders.find(id);
        if (order === undefined) throw new ApiError(404, 'not_found', 'no such order');
        return { request_id: requestId, order: renderOrder(order) };
      },
    }),
    endpoint({
      path: '/v1/store/address/list',
      summary: 'Lists the store’s own (sender) addresses',
      schema: addressListRequestSchema,
      bodyOptional: true,
      answers: addressListAnswer,
      errors: { 403: ['access_denied'] },
      answer: ({ limit = 100, offset = 0 }, { requestId }) => {
        const { page, ...rest } = pageOf(addresses.own(), { limit, offset });
        return { request_id: requestId, addresses: page, ...rest };
      },
    }),
    endpoint({
      path: '/v1/product/list',
      summary: 'Lists the store’s products, one row each',
      schema: productListRequestSchema,
      bodyOptional: true,
      answers: productListAnswer,
      answer: ({ limit = 20, offset = 0, ...wanted }, { requestId }) => {
        const all = listing.products(wanted);
        const { page, ...rest } = pageOf(all, { limit, offset });
        return {
          request_id: requestId,
          products: page.map((product) => ({
            id: product.id,
            name: product.name,
            ...(product.imageCount > 0 && { image_url: imageUrl(product, 0) }),
          })),
          ...(wanted.get_count === true && { total: all.length }),
          ...rest,
        };
      },
    }),
    endpoint({
      path: '/v1/product/detail',
      summary: 'Reads one product in full',
      schema: productDetailRequestSchema,
      answers: productDetailAnswer,
      errors: { 404: ['not_found'] },
      answer: (body, { requestId, ageMs }) => {
        const product = truth.detail(body.product_id, ageMs);
        if (product === null) throw new ApiError(404, 'not_found', 'no such product');
        losses.shown(product.id, ageMs);
        return { request_id: requestId, product };
      },
    }),
  ];
}
