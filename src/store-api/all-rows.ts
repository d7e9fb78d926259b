import type { CallOptions } from './endpoints/call.ts';
import type { ServiceClient } from './client.ts';
import { PRODUCT_LIST_ENDPOINT } from './endpoints/products.ts';
import type { ProductListRequest, ProductRow } from './contract/schemas.ts';
import { listRows } from './endpoints/list-pages.ts';

export type AllProductsRequest = Pick<ProductListRequest, 'query' | 'sort_by' | 'sort_order'>;

/** The largest page that "Limits" allows: fewer requests, and less time for a list to shift. */
const PRODUCTS_PER_PAGE = 100;

/**
 * By default by ascending `id`: only in that order does each product come exactly once while others are edited or
 * deleted (docs/store-api.md#post-v1productlist). @throws ServiceError from the iteration.
 */
export function allProducts(
  client: Pick<ServiceClient, 'listProducts'>,
  { query, sort_by = 'id', sort_order = 'asc' }: AllProductsRequest = {},
  options?: CallOptions,
): AsyncGenerator<ProductRow, void, undefined> {
  const filter = { sort_by, sort_order, limit: PRODUCTS_PER_PAGE, ...(query === undefined ? {} : { query }) };
  return listRows(PRODUCT_LIST_ENDPOINT, async (offset) => {
    const { page } = await client.listProducts({ ...filter, offset }, options);
    return { rows: page.products, hasMore: page.has_more };
  });
}
