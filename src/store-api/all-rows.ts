import { ADDRESS_LIST_ENDPOINT } from './endpoints/orders.ts';
import type { CallOptions } from './endpoints/call.ts';
import type { ServiceClient } from './client.ts';
import type { StoreAddress } from './contract/order-schemas.ts';
import { PRODUCT_LIST_ENDPOINT } from './endpoints/products.ts';
import type { ProductListRequest, ProductRow } from './contract/schemas.ts';
import { listRows } from './endpoints/list-pages.ts';

export type AllProductsRequest = Pick<ProductListRequest, 'query' | 'sort_by' | 'sort_order'>;

/** The largest pages that "Limits" allows: fewer requests, and less time for a list to shift. */
const PRODUCTS_PER_PAGE = 100;
const ADDRESSES_PER_PAGE = 200;

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

/** The default sender comes first (docs/store-api.md#post-v1storeaddresslist). @throws ServiceError likewise. */
export function allAddresses(
  client: Pick<ServiceClient, 'listAddresses'>,
  options?: CallOptions,
): AsyncGenerator<StoreAddress, void, undefined> {
  return listRows(ADDRESS_LIST_ENDPOINT, async (offset) => {
    const { page } = await client.listAddresses({ limit: ADDRESSES_PER_PAGE, offset }, options);
    return { rows: page.addresses, hasMore: page.has_more };
  });
}
