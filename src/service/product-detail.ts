/** POST /v1/product/detail. */
import type { Call, CallOptions } from './call.ts';
import { productFault } from './answer-limits.ts';
import { ServiceError } from './errors.ts';
import type { AnswerTimes } from './errors.ts';
import { notFoundIn } from './not-found.ts';
import type { NotFound } from './not-found.ts';
import { productDetailRequestSchema, productDetailResponseSchema } from './schemas.ts';
import type { ProductDetail } from './schemas.ts';

/** Not found: deleted, never existed, or another store's. */
export type ProductDetailAnswer = FoundProduct | NotFound;

interface FoundProduct extends AnswerTimes {
  readonly outcome: 'found';
  readonly product: ProductDetail;
  /** The product's JSON object as the store sent it, unknown fields kept. */
  readonly rawProduct: unknown;
  readonly requestId: string;
}

const ENDPOINT = '/v1/product/detail';

/**
 * Reads one product whole (docs/store-api.md#post-v1productdetail).
 *
 * @param productId a string of digits.
 * @throws ServiceError; of kind `contract` also when another product is answered than the one asked for, or one beyond
 * the limits of answer-limits.ts, and for a 404 that is not the store's own.
 */
export async function productDetail(
  call: Call,
  productId: string,
  options?: CallOptions,
): Promise<ProductDetailAnswer> {
  const body = { product_id: productId };
  let answer;
  try {
    answer = await call(ENDPOINT, productDetailRequestSchema, productDetailResponseSchema, body, options);
  } catch (error) {
    return notFoundIn(error);
  }
  const { value, json, requestId, ...times } = answer;
  const fault =
    value.product.id === productId
      ? productFault(value.product)
      : `asked for product ${productId}, answered product ${value.product.id}`;
  if (fault !== null) {
    throw new ServiceError({
      kind: 'contract',
      endpoint: ENDPOINT,
      requestId,
      status: 200,
      description: fault,
      times,
    });
  }
  const rawProduct = (json as { product: unknown }).product;
  return { outcome: 'found', product: value.product, rawProduct, requestId, ...times };
}
