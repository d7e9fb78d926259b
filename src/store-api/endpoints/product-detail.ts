/** POST /v1/product/detail. */
import type { Call, CallOptions } from './call.ts';
import { describeIssues } from '../transport/answer.ts';
import { productFault } from '../transport/answer-limits.ts';
import { ServiceError } from '../transport/errors.ts';
import type { AnswerTimes } from '../transport/errors.ts';
import { notFoundIn } from './not-found.ts';
import type { NotFound } from './not-found.ts';
import {
  productDetailRequestSchema,
  productEnvelopeSchema,
  productVariantDetailSchema,
} from '../contract/schemas.ts';
import type { ProductDetail, ProductVariantDetail } from '../contract/schemas.ts';

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
/** Few enough to be looked at within a few milliseconds. */
const VARIANTS_AT_ONCE = 100;

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
    answer = await call(
      {
        endpoint: ENDPOINT,
        requestSchema: productDetailRequestSchema,
        answerSchema: productEnvelopeSchema,
        body,
      },
      options,
    );
  } catch (error) {
    return notFoundIn(error);
  }
  const { value, json, requestId, ...times } = answer;
  const refuse = (description: string) =>
    new ServiceError({ kind: 'contract', endpoint: ENDPOINT, requestId, status: 200, description, times });
  if (value.product.id !== productId)
    throw refuse(`asked for product ${productId}, answered product ${value.product.id}`);
  const variants: ProductVariantDetail[] = [];
  for (const [i, told] of value.product.variants.entries()) {
    // What came on the sockets meanwhile is taken in between: thousands of variants take a tenth of a second.
    if (i % VARIANTS_AT_ONCE === VARIANTS_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
    const parsed = productVariantDetailSchema.safeParse(told);
    if (!parsed.success) throw refuse(describeIssues(parsed.error, ['product', 'variants', i]));
    variants.push(parsed.data);
  }
  const product = { ...value.product, variants };
  const fault = productFault(product);
  if (fault !== null) throw refuse(fault);
  const rawProduct = (json as { product: unknown }).product;
  return { outcome: 'found', product, rawProduct, requestId, ...times };
}
