import { productDetailRequestSchema, productListRequestSchema } from '../service/schemas.ts';
import type { z } from 'zod';
import { ApiError } from './errors.ts';
import type { Listing } from './listing.ts';
import type { Product } from './model.ts';
import type { Answer } from './reads.ts';
import type { Truth } from './truth.ts';

/** One `/v1` endpoint: what it takes, and what it answers from the truth as it was `ageMs` ago. */
export type Endpoint = {
  readonly path: string;
  readonly schema: z.ZodObject;
  readonly bodyOptional: boolean;
  answer(body: Record<string, unknown>, requestId: string, ageMs: number): Answer;
};

/** Ties the answer's body type to its schema, then forgets it, so that endpoints share one table. */
function endpoint<Schema extends z.ZodObject>(definition: {
  path: string;
  schema: Schema;
  bodyOptional: boolean;
  answer(body: z.output<Schema>, requestId: string, ageMs: number): Answer;
}): Endpoint {
  return {
    ...definition,
    answer: (body, requestId, ageMs) => definition.answer(body as z.output<Schema>, requestId, ageMs),
  };
}

export function productEndpoints(deps: { truth: Truth; listing: Listing }): Endpoint[] {
  const { truth, listing } = deps;

  const row = (product: Product): Record<string, unknown> => ({
    id: product.id,
    name: product.name,
    ...(product.imageCount > 0 && { image_url: `${truth.imageBaseUrl}/full/${product.id}/0.jpg` }),
  });

  return [
    endpoint({
      path: '/v1/product/list',
      schema: productListRequestSchema,
      bodyOptional: true,
      answer: (body, requestId) => {
        const { products, total, hasMore } = listing.page(body);
        return {
          status: 200,
          body: {
            request_id: requestId,
            products: products.map(row),
            ...(body.get_count === true && { total }),
            has_more: hasMore,
          },
        };
      },
    }),
    endpoint({
      path: '/v1/product/detail',
      schema: productDetailRequestSchema,
      bodyOptional: false,
      answer: (body, requestId, ageMs) => {
        const product = truth.detail(body.product_id, ageMs);
        if (product === null) throw new ApiError(404, 'not_found', 'no such product');
        return { status: 200, body: { request_id: requestId, product } };
      },
    }),
  ];
}
