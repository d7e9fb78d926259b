/**
 * The store's answers and webhooks as documented: the fields that are always present, and their values. The client is
 * more lenient, so that one odd field does no harm; the names come from its schemas. New fields may appear at any time
 * ("Versioning" 2).
 */
import { z } from 'zod';
import {
  addressInputSchema,
  addressListResponseSchema,
  orderSchema,
  shippingTypes,
} from '../../store-api/contract/order-schemas.ts';
import {
  categorySchema,
  epochMsSchema,
  idSchema,
  productDetailSchema,
  productListResponseSchema,
  productRowSchema,
  productVariantDetailSchema,
  shippingRateSchema,
  STOCK_AVAILABLE_UPDATED,
  stockItemSchema,
  tokenResponseSchema,
  webhookEnvelopeSchema,
} from '../../store-api/contract/schemas.ts';
import { told } from './told.ts';

const requestId = z.string().meta({ description: 'The same as the header X-Request-Id.' });
const uri = z.url();

// ---- POST /oauth/token, and errors ---------------------------------------------------------------------------

export const tokenAnswer = tokenResponseSchema
  .extend({ token_type: z.literal('Bearer') })
  .meta({ id: 'Token', description: 'Lives `expires_in` seconds; no two calls give the same one.' });

/** The form of every error ("Errors"). */
export const errorAnswer = z
  .looseObject({
    error: z.string().meta({ description: 'Machine code: branch on this.' }),
    error_description: z.string().optional().meta({ description: 'For people; its wording may change.' }),
  })
  .meta({ id: 'Error' });

// ---- Orders and addresses ------------------------------------------------------------------------------------

const orderAddress = z
  .looseObject({ ...addressInputSchema.shape, id: idSchema })
  .meta({ id: 'OrderAddress', description: 'Its id can be the `recipient_address_id` of a later order.' });

const orderAnswer = z
  .looseObject({ ...told(orderSchema.shape), recipient_address: orderAddress.optional() })
  .meta({ id: 'Order', description: '`shipments` is absent until the courier booking completes.' });

export const orderEnvelope = z.looseObject({ request_id: requestId, order: orderAnswer });

const storeAddress = z
  .looseObject({ ...orderAddress.shape, is_primary: z.boolean() })
  .meta({ id: 'StoreAddress', description: 'Its id can be the `sender_address_id` of an order.' });

export const addressListAnswer = z.looseObject({
  ...told(addressListResponseSchema.shape),
  request_id: requestId,
  addresses: z.array(storeAddress).meta({ description: 'Primary first, then oldest first.' }),
});

// ---- Products ------------------------------------------------------------------------------------------------

const productRow = z
  .looseObject({ ...told(productRowSchema.shape), image_url: uri.optional() })
  .meta({ id: 'Product' });

export const productListAnswer = z.looseObject({
  ...told(productListResponseSchema.shape),
  request_id: requestId,
  products: z.array(productRow),
});

const shippingRate = z
  .looseObject({ ...told(shippingRateSchema.shape), shipping_type: z.enum(shippingTypes) })
  .meta({ id: 'ProductShippingRate' });

const productVariantDetail = z
  .looseObject({
    ...told(productVariantDetailSchema.shape),
    img_url: uri.optional(),
    thumbnail_url: uri.optional(),
    tiny_img_url: uri.optional(),
    weight: z.int(),
  })
  .meta({ id: 'ProductVariantDetail' });

const productDetail = z
  .looseObject({
    ...told(productDetailSchema.shape),
    description: z.string().meta({ description: 'Empty when there is none.' }),
    img_uris: z.array(uri),
    thumbnail_uris: z.array(uri),
    tiny_img_uris: z.array(uri),
    category: z.looseObject(told(categorySchema.shape)).optional(),
    shipping_rates: z.array(shippingRate).optional(),
    seller_shipping_rates: z.array(shippingRate).optional(),
    variants: z.array(productVariantDetail).min(1),
  })
  .meta({ id: 'ProductDetail' });

export const productDetailAnswer = z.looseObject({ request_id: requestId, product: productDetail });

// ---- Webhooks ------------------------------------------------------------------------------------------------

const stockChange = z
  .looseObject({
    ...told(stockItemSchema.shape),
    sku: z.string().meta({ description: 'Empty when the variant has none.' }),
    reason: z.string().meta({ description: 'A reason code; new ones may appear at any time.' }),
    order_id: idSchema.optional(),
    user_id: idSchema.optional(),
  })
  .meta({
    id: 'StockChange',
    description: 'At most one of the two actors is present.',
    not: { required: ['order_id', 'user_id'] },
  });

export const stockAvailableUpdated = z.looseObject({
  ...told(webhookEnvelopeSchema.shape),
  event_type: z.literal(STOCK_AVAILABLE_UPDATED),
  request_time: epochMsSchema,
  data: z.looseObject({ items: z.array(stockChange).min(1) }),
});

export type OrderAnswer = z.input<typeof orderAnswer>;
export type RenderedProduct = z.input<typeof productDetail>;
/** One item of a `stock_available_updated` delivery. */
export type SentItem = z.input<typeof stockChange>;
