import type { z } from 'zod';
import {
  addressListRequestSchema,
  createOrderRequestSchema,
  orderDetailRequestSchema,
} from '../../store-api/contract/order-schemas.ts';
import { productDetailRequestSchema, productListRequestSchema } from '../../store-api/contract/schemas.ts';
import type { Answer } from '../network/reads.ts';
import { requireAccess } from '../shared/access.ts';
import type { Access } from '../shared/access.ts';
import { ApiError } from '../shared/errors.ts';
import type { ErrorCode, ErrorStatus } from '../shared/errors.ts';
import type { AddressBook } from '../world/address-book.ts';
import {
  addressListAnswer,
  orderEnvelope,
  productDetailAnswer,
  productListAnswer,
} from '../world/answers.ts';
import { Listing } from '../world/listing.ts';
import type { OrderDesk } from '../world/order-desk.ts';
import { renderOrder } from '../world/order-render.ts';
import type { Orders } from '../world/orders.ts';
import type { Truth } from '../world/truth.ts';

/** The caller, and the age of the truth that it is shown. */
interface Asked {
  readonly requestId: string;
  readonly clientId: string;
  readonly ageMs: number;
}

/** The errors of an endpoint, besides those of every endpoint, with their codes. */
export type DocumentedErrors = Readonly<Partial<Record<ErrorStatus, readonly ErrorCode[]>>>;

/** One `/v1` endpoint: its request and its answer. */
export interface Endpoint {
  readonly path: string;
  readonly summary: string;
  readonly schema: z.ZodObject;
  readonly bodyOptional?: boolean;
  /** The body of a 200. */
  readonly answers: z.ZodObject;
  readonly errors?: DocumentedErrors;
  answer(body: Record<string, unknown>, asked: Asked): Answer;
}

export function endpointsOf(store: {
  readonly access: Access;
  readonly addresses: AddressBook;
  readonly orderDesk: OrderDesk;
  readonly operations: { readonly orders: Orders };
  readonly truth: Truth;
}): Endpoint[] {
  const { access, addresses, orderDesk, truth } = store;
  const { orders } = store.operations;
  const listing = new Listing(truth);

  return [
    endpoint({
      path: '/v1/order/create',
      summary: 'Creates an order, or returns the existing one with its external_order_id',
      schema: createOrderRequestSchema,
      answers: orderEnvelope,
      errors: { 403: ['access_denied', 'quota_exceeded'] },
      // Nothing here waits, so two requests with the same external_order_id cannot both find none.
      answer: (body, { requestId, clientId }) => {
        requireAccess(access);
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
        requireAccess(access);
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
        requireAccess(access);
        const all = addresses.own();
        const end = offset + limit;
        return { request_id: requestId, addresses: all.slice(offset, end), has_more: end < all.length };
      },
    }),
    endpoint({
      path: '/v1/product/list',
      summary: 'Lists the store’s products, one row each',
      schema: productListRequestSchema,
      bodyOptional: true,
      answers: productListAnswer,
      answer: (body, { requestId }) => {
        const { products, total, hasMore } = listing.page(body);
        return {
          request_id: requestId,
          products: products.map(({ id, name, imageCount }) => ({
            ...{ id, name },
            ...(imageCount > 0 && { image_url: `${truth.imageBaseUrl}/full/${id}/0.jpg` }),
          })),
          ...(body.get_count === true && { total }),
          has_more: hasMore,
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
        return { request_id: requestId, product };
      },
    }),
  ];
}

/** Checks the bodies' types against their schemas, then erases them, so that endpoints share one table. */
function endpoint<Schema extends z.ZodObject, Answers extends z.ZodObject>(
  definition: Omit<Endpoint, 'schema' | 'answers' | 'answer'> & {
    readonly schema: Schema;
    readonly answers: Answers;
    /** Throws ApiError for the errors. */
    answer(body: z.output<Schema>, asked: Asked): z.input<Answers>;
  },
): Endpoint {
  return {
    ...definition,
    answer: (body, asked) => ({ status: 200, body: definition.answer(body as z.output<Schema>, asked) }),
  };
}
