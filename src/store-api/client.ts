/** The typed client: one function per endpoint over one way of calling. */
import { createCall } from './endpoints/call.ts';
import type { CallDeps, CallOptions } from './endpoints/call.ts';
import { createOrder, listAddresses, orderDetail } from './endpoints/orders.ts';
import type { AddressListAnswer, CreateOrderAnswer, OrderDetailAnswer } from './endpoints/orders.ts';
import { listProducts, productDetail } from './endpoints/products.ts';
import type { ProductDetailAnswer, ProductListAnswer } from './endpoints/products.ts';
import type { AddressListRequest, CreateOrderRequest, OrderDetailRequest } from './contract/order-schemas.ts';
import type { ProductListRequest } from './contract/schemas.ts';

/** Reads the catalogue. The mirror gets no more than this, so nothing in it can place an order. */
export interface CatalogueClient {
  /** One page of the catalogue. */
  listProducts(request?: ProductListRequest, options?: CallOptions): Promise<ProductListAnswer>;
  /** One product whole, or the store's answer that there is none. */
  productDetail(productId: string, options?: CallOptions): Promise<ProductDetailAnswer>;
}

/** The whole API of the store. Every function throws ServiceError only, and retries nothing but one refused token. */
export interface ServiceClient extends CatalogueClient {
  /** Creates one order; for an `external_order_id` that the channel has used before, answers that order. */
  createOrder(request: CreateOrderRequest, options?: CallOptions): Promise<CreateOrderAnswer>;
  /** One order in its present state, or the store's answer that there is none. */
  orderDetail(request: OrderDetailRequest, options?: CallOptions): Promise<OrderDetailAnswer>;
  /** One page of the store's own addresses; the first of the first page is the default sender. */
  listAddresses(request?: AddressListRequest, options?: CallOptions): Promise<AddressListAnswer>;
  /** Closes the connections; calls in flight reject with kind `aborted`. */
  close(): Promise<void>;
}

/** Builds the client over a transport and a token provider. */
export function createServiceClient({
  close,
  ...deps
}: CallDeps & Pick<ServiceClient, 'close'>): ServiceClient {
  const call = createCall(deps);
  return {
    listProducts: (request, options) => listProducts(call, request, options),
    productDetail: (productId, options) => productDetail(call, productId, options),
    createOrder: (request, options) => createOrder(call, request, options),
    orderDetail: (request, options) => orderDetail(call, request, options),
    listAddresses: (request, options) => listAddresses(call, request, options),
    close,
  };
}
