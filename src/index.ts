/** What other programs may import: the client of the store's API, its signatures, its errors and its shapes. */
export { connectService } from './service/connect.ts';
export type { ServiceConnection, ServiceConnectionOptions } from './service/connect.ts';
export type { CallOptions } from './service/call.ts';
export type { ServiceClient } from './service/client.ts';
export type { ProductDetailAnswer } from './service/product-detail.ts';
export type { ProductListAnswer } from './service/product-list.ts';
export type { TokenProvider } from './service/token.ts';
export type { HttpLimits } from './service/http.ts';
export { ServiceError } from './service/errors.ts';
export type { AnswerTimes, ServiceErrorKind } from './service/errors.ts';
export { signBody, verifySignature } from './service/signature.ts';
export type {
  ProductDetail,
  ProductListRequest,
  ProductListResponse,
  ProductRow,
  ProductVariantDetail,
  StockItem,
  WarehouseLevel,
  WebhookEnvelope,
} from './service/schemas.ts';
