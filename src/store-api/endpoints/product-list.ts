/** POST /v1/product/list. */
import { MAX_LISTED_PRODUCTS } from '../transport/answer-limits.ts';
import type { Call, CallOptions } from './call.ts';
import { ServiceError } from '../transport/errors.ts';
import type { AnswerTimes } from '../transport/errors.ts';
import { productListRequestSchema, productListResponseSchema } from '../contract/schemas.ts';
import type { ProductListRequest, ProductListResponse } from '../contract/schemas.ts';

export interface ProductListAnswer extends AnswerTimes {
  readonly page: ProductListResponse;
  readonly requestId: string;
}

export const PRODUCT_LIST_ENDPOINT = '/v1/product/list';

/**
 * Lists one page of the store's products (docs/store-api.md#post-v1productlist). Sorted by `id` each product
 * is listed exactly once while others are edited.
 *
 * @throws ServiceError.
 */
export async function listProducts(
  call: Call,
  request: ProductListRequest = {},
  options?: CallOptions,
): Promise<ProductListAnswer> {
  const {
    value,
    json: _,
    ...rest
  } = await call(
    {
      endpoint: PRODUCT_LIST_ENDPOINT,
      requestSchema: productListRequestSchema,
      answerSchema: productListResponseSchema,
      body: request,
    },
    options,
  );
  if (value.products.length > MAX_LISTED_PRODUCTS) {
    throw new ServiceError({
      kind: 'contract',
      endpoint: PRODUCT_LIST_ENDPOINT,
      requestId: rest.requestId,
      status: 200,
      description: `a page of ${value.products.length} products; at most ${MAX_LISTED_PRODUCTS} are read`,
    });
  }
  return { page: value, ...rest };
}
