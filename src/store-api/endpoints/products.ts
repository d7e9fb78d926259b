import {
  productDetailRequestSchema,
  productDetailResponseSchema,
  productListRequestSchema,
  productListResponseSchema,
  type ProductDetail,
  type ProductListRequest,
  type ProductListResponse,
} from '../contract/schemas.ts';
import { readOne, type Answered, type Call, type CallOptions, type NotFound } from './call.ts';

export const PRODUCT_LIST_ENDPOINT = '/v1/product/list';

export interface ProductListAnswer extends Answered {
  readonly page: ProductListResponse;
}

/** Not found: deleted, never existed, or another store's. */
export type ProductDetailAnswer = FoundProduct | NotFound;

interface FoundProduct extends Answered {
  readonly outcome: 'found';
  readonly product: ProductDetail;
  /** The product's JSON object as received, with unknown fields. */
  readonly rawProduct: unknown;
}

/** Reads the catalogue. The mirror gets only this, so nothing in it can place an order. */
export interface CatalogueClient {
  /** One page of the catalogue. Sorted by `id`, each product is listed exactly once while others are edited. */
  listProducts(request?: ProductListRequest, options?: CallOptions): Promise<ProductListAnswer>;
  /** One whole product. The answer for another product is an error of kind `contract`. */
  productDetail(productId: string, options?: CallOptions): Promise<ProductDetailAnswer>;
}

export function catalogueClient(call: Call): CatalogueClient {
  return {
    async listProducts(body = {}, options) {
      const schemas = { requestSchema: productListRequestSchema, answerSchema: productListResponseSchema };
      const request = { endpoint: PRODUCT_LIST_ENDPOINT, ...schemas, body };
      const { value: page, json: _, ...answered } = await call(request, options);
      return { page, ...answered };
    },
    async productDetail(productId, options) {
      const schemas = {
        requestSchema: productDetailRequestSchema,
        answerSchema: productDetailResponseSchema,
      };
      const request = { endpoint: '/v1/product/detail', ...schemas, body: { product_id: productId } };
      const answer = await readOne(call, request, options, ({ product: { id } }) =>
        id === productId ? null : `asked for product ${productId}, answered product ${id}`,
      );
      if (answer.outcome === 'not_found') return answer;
      const { value, json, ...answered } = answer;
      return { product: value.product, rawProduct: (json as { product: unknown }).product, ...answered };
    },
  };
}
