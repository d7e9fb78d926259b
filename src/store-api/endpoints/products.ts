/** POST /v1/product/list and POST /v1/product/detail. */
import { describeIssues } from '../transport/answer.ts';
import { MAX_LISTED_PRODUCTS, productFault } from '../transport/answer-limits.ts';
import { ServiceError } from '../transport/errors.ts';
import {
  productDetailRequestSchema,
  productEnvelopeSchema,
  productListRequestSchema,
  productListResponseSchema,
  productVariantDetailSchema,
} from '../contract/schemas.ts';
import type {
  ProductDetail,
  ProductListRequest,
  ProductListResponse,
  ProductVariantDetail,
} from '../contract/schemas.ts';
import { notFoundIn } from './call.ts';
import type { Answered, Call, CallOptions, NotFound } from './call.ts';

export const PRODUCT_LIST_ENDPOINT = '/v1/product/list';
const DETAIL_ENDPOINT = '/v1/product/detail';
/** Few enough to be checked within a few milliseconds. */
const VARIANTS_AT_ONCE = 100;

export interface ProductListAnswer extends Answered {
  readonly page: ProductListResponse;
}

/**
 * Lists one page of the store's products. Sorted by `id`, each product is listed exactly once while others are edited.
 *
 * @throws ServiceError.
 */
export async function listProducts(
  call: Call,
  request: ProductListRequest = {},
  options?: CallOptions,
): Promise<ProductListAnswer> {
  const { value, ...answer } = await call(
    {
      endpoint: PRODUCT_LIST_ENDPOINT,
      requestSchema: productListRequestSchema,
      answerSchema: productListResponseSchema,
      body: request,
    },
    options,
  );
  if (value.products.length > MAX_LISTED_PRODUCTS) {
    const description = `a page of ${value.products.length} products; at most ${MAX_LISTED_PRODUCTS} are read`;
    throw broken(PRODUCT_LIST_ENDPOINT, answer, description);
  }
  const { json: _, ...answered } = answer;
  return { page: value, ...answered };
}

/** Not found: deleted, never existed, or another store's. */
export type ProductDetailAnswer = FoundProduct | NotFound;

interface FoundProduct extends Answered {
  readonly outcome: 'found';
  readonly product: ProductDetail;
  /** The product's JSON object as the store sent it, unknown fields kept. */
  readonly rawProduct: unknown;
}

/**
 * Reads one product whole.
 *
 * @param productId a string of digits.
 * @throws ServiceError; of kind `contract` also for another product than the one requested, for one beyond the limits
 * of answer-limits.ts, and for a 404 that is not the store's own.
 */
export async function productDetail(
  call: Call,
  productId: string,
  options?: CallOptions,
): Promise<ProductDetailAnswer> {
  let answer;
  try {
    answer = await call(
      {
        endpoint: DETAIL_ENDPOINT,
        requestSchema: productDetailRequestSchema,
        answerSchema: productEnvelopeSchema,
        body: { product_id: productId },
      },
      options,
    );
  } catch (error) {
    return notFoundIn(error);
  }
  const { value, json, ...answered } = answer;
  const refuse = (description: string) => broken(DETAIL_ENDPOINT, answered, description);
  if (value.product.id !== productId)
    throw refuse(`asked for product ${productId}, answered product ${value.product.id}`);
  const variants: ProductVariantDetail[] = [];
  for (const [i, variant] of value.product.variants.entries()) {
    // Lets the sockets be served in between: thousands of variants take a tenth of a second.
    if (i % VARIANTS_AT_ONCE === VARIANTS_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
    const parsed = productVariantDetailSchema.safeParse(variant);
    if (!parsed.success) throw refuse(describeIssues(parsed.error, ['product', 'variants', i]));
    variants.push(parsed.data);
  }
  const product = { ...value.product, variants };
  const fault = productFault(product);
  if (fault !== null) throw refuse(fault);
  return { outcome: 'found', product, rawProduct: (json as { product: unknown }).product, ...answered };
}

function broken(endpoint: string, { requestId, ...times }: Answered, description: string): ServiceError {
  return new ServiceError({ kind: 'contract', endpoint, requestId, status: 200, description, times });
}
