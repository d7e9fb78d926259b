/** What other programs may import: the client of the store's API, its signatures, its errors and its shapes. */
export { connectService } from './store-api/connect.ts';
export type { ServiceConnection, ServiceConnectionOptions } from './store-api/connect.ts';
export type { CallOptions } from './store-api/endpoints/call.ts';
export type { ServiceClient } from './store-api/client.ts';
export type { ProductDetailAnswer } from './store-api/endpoints/products.ts';
export type { ProductListAnswer } from './store-api/endpoints/products.ts';
export type { TokenProvider } from './store-api/token/token.ts';
export type { HttpLimits } from './store-api/transport/http.ts';
export { ServiceError } from './store-api/transport/errors.ts';
export type { AnswerTimes, ServiceErrorKind } from './store-api/transport/errors.ts';
export { signBody, verifySignature } from './store-api/signature.ts';
export type {
  ProductDetail,
  ProductListRequest,
  ProductListResponse,
  ProductRow,
  ProductVariantDetail,
  StockItem,
  WarehouseLevel,
  WebhookEnvelope,
} from './store-api/contract/schemas.ts';
