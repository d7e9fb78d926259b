/** The typed client: one function per endpoint, each in its own file, over one way of calling. */
import { createCall } from './call.ts';
import type { CallDeps, CallOptions } from './call.ts';
import { listProducts } from './product-list.ts';
import type { ProductListAnswer } from './product-list.ts';
import { productDetail } from './product-detail.ts';
import type { ProductDetailAnswer } from './product-detail.ts';
import type { ProductListRequest } from './schemas.ts';

/** Every function throws ServiceError only, and retries nothing but one refused token. */
export interface ServiceClient {
  /** One page of the catalogue. */
  listProducts(request?: ProductListRequest, options?: CallOptions): Promise<ProductListAnswer>;
  /** One product whole, or the service's word that there is none. */
  productDetail(productId: string, options?: CallOptions): Promise<ProductDetailAnswer>;
  /** Closes the connections; calls in flight reject with kind `aborted`. */
  close(): Promise<void>;
}

export interface ServiceClientDeps extends CallDeps {
  readonly close: () => Promise<void>;
}

/** Builds the client over a transport and a token provider (service-api.md, "Endpoints"). */
export function createServiceClient(deps: ServiceClientDeps): ServiceClient {
  const call = createCall(deps);
  return {
    listProducts: (request, options) => listProducts(call, request, options),
    productDetail: (productId, options) => productDetail(call, productId, options),
    close: deps.close,
  };
}
