/** The typed client: one function per endpoint, each in its own file, over one way of calling. */
import { listAddresses } from './endpoints/address-list.ts';
import type { AddressListAnswer } from './endpoints/address-list.ts';
import { createCall } from './endpoints/call.ts';
import type { CallDeps, CallOptions } from './endpoints/call.ts';
import { createOrder } from './endpoints/order-create.ts';
import type { CreateOrderAnswer } from './endpoints/order-create.ts';
import { orderDetail } from './endpoints/order-detail.ts';
import type { OrderDetailAnswer } from './endpoints/order-detail.ts';
import type { AddressListRequest, CreateOrderRequest, OrderDetailRequest } from './contract/order-schemas.ts';
import { listProducts } from './endpoints/product-list.ts';
import type { ProductListAnswer } from './endpoints/product-list.ts';
import { productDetail } from './endpoints/product-detail.ts';
import type { ProductDetailAnswer } from './endpoints/product-detail.ts';
import type { ProductListRequest } from './contract/schemas.ts';

/** What reads the catalogue: all that the mirror is given, so nothing in it can place an order. */
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

interface ServiceClientDeps extends CallDeps {
  readonly close: () => Promise<void>;
}

/** Builds the client over a transport and a token provider (docs/store-api.md#endpoints). */
export function createServiceClient(deps: ServiceClientDeps): ServiceClient {
  const call = createCall(deps);
  return {
    listProducts: (request, options) => listProducts(call, request, options),
    productDetail: (productId, options) => productDetail(call, productId, options),
    createOrder: (request, options) => createOrder(call, request, options),
    orderDetail: (request, options) => orderDetail(call, request, options),
    listAddresses: (request, options) => listAddresses(call, request, options),
    close: deps.close,
  };
}
