import { productDetailRequestSchema, productListRequestSchema } from '../service/schemas.ts';
import { endpoint } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from './errors.ts';
import type { Listing } from './listing.ts';
import type { Product } from './model.ts';
import type { Truth } from './truth.ts';

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
      answer: (body, { requestId }) => {
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
      answer: (body, { requestId, ageMs }) => {
        const product = truth.detail(body.product_id, ageMs);
        if (product === null) throw new ApiError(404, 'not_found', 'no such product');
        return { status: 200, body: { request_id: requestId, product } };
      },
    }),
  ];
}
