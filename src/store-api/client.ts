/** The typed client: one function per endpoint over one way of calling. */
import { createCall, type CallDeps } from './endpoints/call.ts';
import { orderClient, type OrderClient } from './endpoints/orders.ts';
import { catalogueClient, type CatalogueClient } from './endpoints/products.ts';

export type { CatalogueClient } from './endpoints/products.ts';

/** The whole API of the store. Every function throws ServiceError only, and retries nothing but one refused token. */
export interface ServiceClient extends CatalogueClient, OrderClient {
  /** Closes the connections; calls in flight reject with kind `aborted`. */
  close(): Promise<void>;
}

/** Builds the client over a transport and a token provider. */
export function createServiceClient({
  close,
  ...deps
}: CallDeps & Pick<ServiceClient, 'close'>): ServiceClient {
  const call = createCall(deps);
  return { ...catalogueClient(call), ...orderClient(call), close };
}
