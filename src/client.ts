/** The client for partners: every endpoint, with retries, over one shared token (docs/client-library.md). */
import { allProducts, type AllProductsRequest } from './store-api/all-rows.ts';
import { connectService, type ServiceClient, type ServiceConnectionOptions } from './store-api/client.ts';
import type { ProductRow } from './store-api/contract/schemas.ts';
import type { CallOptions } from './store-api/endpoints/call.ts';
import { withDefaults, type Overrides } from './store-api/defaults.ts';
import { DEFAULT_RETRY_POLICY, withRetries, type RetryPolicy } from './store-api/retry.ts';

type Shared = 'baseUrl' | 'clientId' | 'clientSecret' | 'tokenFilePath' | 'limits';

export interface ClientOptions extends Pick<ServiceConnectionOptions, Shared> {
  /** Limit of requests in flight; default 8. */
  readonly maxConcurrency?: number | undefined;
  /** `{ attempts: 1 }` disables retries. */
  readonly retry?: Overrides<RetryPolicy> | undefined;
  /** Called when the token file cannot be read or written and the token stays in memory; default: a process warning. */
  readonly onTokenFileError?: ((error: unknown) => void) | undefined;
}

/** Every function throws only ServiceError, after the retries that its policy allows. */
export interface Client extends ServiceClient {
  /**
   * Every product, by default by ascending `id`: only in that order does each come exactly once while the catalogue is
   * edited. Can be iterated once.
   */
  allProducts(
    request?: AllProductsRequest,
    options?: CallOptions,
  ): AsyncGenerator<ProductRow, void, undefined>;
  /** Allows refused credentials to be tried again. Rejects if the token file cannot be written. */
  retryCredentials(): Promise<void>;
}

const DEFAULT_MAX_CONCURRENCY = 8;

/**
 * Connects to the store; sends nothing before the first call. 5xx, network failures and timeouts are retried: reads
 * always, `createOrder` only with an `external_order_id`. 429 waits for its `Retry-After`; a refused token is replaced
 * once (docs/client-library.md#retries). An option that is undefined has its default. @throws TypeError, RangeError for
 * impossible options.
 */
export function createClient({
  retry,
  maxConcurrency = DEFAULT_MAX_CONCURRENCY,
  onTokenFileError = warn,
  ...options
}: ClientOptions): Client {
  const connection = connectService({ ...options, maxConcurrency, onTokenFileError });
  const client = withRetries(connection.client, withDefaults(DEFAULT_RETRY_POLICY, retry));
  return {
    ...client,
    allProducts: (request, callOptions) => allProducts(client, request, callOptions),
    retryCredentials: () => connection.tokens.retryCredentials(),
  };
}

function warn(error: unknown): void {
  process.emitWarning(`the token is kept in memory only: ${String(error)}`, 'TokenFileWarning');
}

export { shippingTypes } from './store-api/contract/order-schemas.ts';
export { signBody, verifySignature } from './store-api/signature.ts';
export { ServiceError } from './store-api/transport/errors.ts';
export { WebhookError, webhooks } from './store-api/webhooks.ts';
export type { AllProductsRequest } from './store-api/all-rows.ts';
export type { ServiceClient } from './store-api/client.ts';
export type {
  Address,
  AddressInput,
  AddressListRequest,
  AddressListResponse,
  CreateOrderRequest,
  MoneyInput,
  Order,
  OrderDetailRequest,
  OrderLine,
  ShippingType,
  StoreAddress,
} from './store-api/contract/order-schemas.ts';
export type {
  ProductCategory,
  ProductDetail,
  ProductListRequest,
  ProductListResponse,
  ProductRow,
  ProductVariantDetail,
  ShippingRate,
  StockItem,
  WarehouseLevel,
  WebhookEnvelope,
} from './store-api/contract/schemas.ts';
export type { CallOptions, NotFound } from './store-api/endpoints/call.ts';
export type {
  AddressListAnswer,
  CreateOrderAnswer,
  OrderDetailAnswer,
} from './store-api/endpoints/orders.ts';
export type {
  CatalogueClient,
  ProductDetailAnswer,
  ProductListAnswer,
} from './store-api/endpoints/products.ts';
export type { RetryPolicy } from './store-api/retry.ts';
export type { AnswerTimes, ServiceErrorKind } from './store-api/transport/errors.ts';
export type { HttpLimits } from './store-api/transport/http.ts';
export type { StockAvailableUpdated, WebhookErrorKind, WebhookEvent } from './store-api/webhooks.ts';
