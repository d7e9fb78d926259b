/** POST /v1/product/detail. */
import type { Call, CallOptions } from './call.ts';
import { ServiceError } from './errors.ts';
import type { AnswerTimes } from './errors.ts';
import { productDetailRequestSchema, productDetailResponseSchema } from './schemas.ts';
import type { ProductDetail } from './schemas.ts';

export type ProductDetailAnswer = AnswerTimes & { readonly requestId: string } & (
    | {
        readonly outcome: 'found';
        readonly product: ProductDetail;
        /** The product's JSON object as the service sent it, unknown fields kept. */
        readonly rawProduct: unknown;
      }
    | {
        /** The service itself said `not_found`: deleted, never there, or another store's. */
        readonly outcome: 'not_found';
      }
  );

const ENDPOINT = '/v1/product/detail';

/**
 * Reads one product whole (service-api.md, "POST /v1/product/detail").
 *
 * @param productId a string of digits.
 * @throws ServiceError; of kind `contract` also for another product than asked, and for a 404 that is not the
 * service's own.
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
    const absent = asNotFound(error);
    if (absent === null) throw error;
    return absent;
  }
  const { value, json, requestId, ...times } = answer;
  if (value.product.id !== productId) {
    const description = `asked for product ${productId}, answered product ${value.product.id}`;
    throw new ServiceError({
      kind: 'contract',
      endpoint: ENDPOINT,
      requestId,
      status: 200,
      description,
      times,
    });
  }
  const rawProduct = (json as { product: unknown }).product;
  return { outcome: 'found', product: value.product, rawProduct, requestId, ...times };
}

function asNotFound(error: unknown): ProductDetailAnswer | null {
  if (!(error instanceof ServiceError) || error.kind !== 'rejected') return null;
  if (error.status !== 404 || error.code !== 'not_found') return null;
  const { requestId, times } = error;
  if (requestId === undefined || times === undefined) return null;
  return { outcome: 'not_found', requestId, ...times };
}
