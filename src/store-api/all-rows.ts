import type { CallOptions } from './endpoints/call.ts';
import type { ServiceClient } from './client.ts';
import { PRODUCT_LIST_ENDPOINT } from './endpoints/products.ts';
import type { ProductListRequest, ProductRow } from './contract/schemas.ts';
import { listPages } from './endpoints/list-pages.ts';

export type AllProductsRequest = Pick<ProductListRequest, 'query' | 'sort_by' | 'sort_order'>;

/** The largest page that "Limits" allows: fewer requests, and less time for a list to shift. */
const PRODUCTS_PER_PAGE = 100;

/**
 * By default by ascending `id`: only in that order does each product come exactly once while others are edited or
 * deleted (docs/store-api.md#post-v1productlist). @throws ServiceError from the iteration.
 */
export async function* allProducts(
  client: Pick<ServiceClient, 'listProducts'>,
  { query, sort_by = 'id', sort_order = 'asc' }: AllProductsRequest = {},
  options?: CallOptions,
): AsyncGenerator<ProductRow, void, undefined> {
  const filter = { sort_by, sort_order, limit: PRODUCTS_PER_PAGE, ...(query === undefined ? {} : { query }) };
  const readPage = async (offset: number) => {
    const { page } = await client.listProducts({ ...filter, offset }, options);
    return { rows: page.products, hasMore: page.has_more };
  };
  const seen = new Set<string>();
  for await (const { rows } of listPages(PRODUCT_LIST_ENDPOINT, readPage)) {
    for (const row of rows) {
      if (seen.has(row.id)) continue;
      seen.add(row.id);
      yield row;
    }
  }
}
