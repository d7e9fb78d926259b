import type { z } from 'zod';
import { productDetailRequestSchema, productListRequestSchema } from '../../store-api/contract/schemas.ts';
import { productDetailAnswer, productListAnswer } from '../world/answers.ts';
import { endpoint } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from '../shared/errors.ts';
import type { Listing } from '../world/listing.ts';
import type { Product } from '../world/model.ts';
import type { Truth } from '../world/truth.ts';

type ProductRow = z.input<typeof productListAnswer>['products'][number];

export function productEndpoints(deps: { readonly truth: Truth; readonly listing: Listing }): Endpoint[] {
  const { truth, listing } = deps;

  const row = (product: Product): ProductRow => ({
    id: product.id,
    name: product.name,
    ...(product.imageCount > 0 && { image_url: `${truth.imageBaseUrl}/full/${product.id}/0.jpg` }),
  });

  return [
    endpoint({
      path: '/v1/product/list',
      summary: 'Lists the store’s products, one row each',
      schema: productListRequestSchema,
      bodyOptional: true,
      answers: productListAnswer,
      errors: {},
      answer: (body, { requestId }) => {
        const { products, total, hasMore } = listing.page(body);
        return {
          request_id: requestId,
          products: products.map(row),
          ...(body.get_count === true && { total }),
          has_more: hasMore,
        };
      },
    }),
    endpoint({
      path: '/v1/product/detail',
      summary: 'Reads one product in full',
      schema: productDetailRequestSchema,
      bodyOptional: false,
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
