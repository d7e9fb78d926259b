/** The store's answers and webhooks as documented, derived from the client's more lenient schemas. */
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

/** Present, or absent but never null ("Conventions" 4). */
type Strict<Field> =
  Field extends z.ZodCatch<infer Inner>
    ? Strict<Inner>
    : Field extends z.ZodPipe<infer Inner, z.ZodTransform>
      ? Strict<Inner>
      : Field extends z.ZodOptional<z.ZodNullable<infer Inner>>
        ? z.ZodOptional<Inner>
        : Field;

/** Undoes a client schema's leniency (`optional`, `lenient`). */
function strict<Shape extends z.ZodRawShape>(shape: Shape) {
  return Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, withoutLeniency(field)])) as {
    [Name in keyof Shape]: Strict<Shape[Name]>;
  };
}

function withoutLeniency(field: z.core.$ZodType): z.core.$ZodType {
  if (field instanceof z.ZodCatch) return withoutLeniency(field.unwrap());
  if (field instanceof z.ZodPipe) return withoutLeniency(field.in);
  if (!(field instanceof z.ZodOptional)) return field;
  const inner = field.unwrap();
  return inner instanceof z.ZodNullable ? z.optional(inner.unwrap()) : field;
}

const requestId = z.string().meta({ description: 'The same as the header X-Request-Id.' });
const uri = z.url();

export const tokenAnswer = tokenResponseSchema
  .extend({ token_type: z.literal('Bearer'), expires_in: z.int().positive() })
  .meta({ id: 'Token', description: 'Lives `expires_in` seconds; no two calls give the same one.' });

export const errorAnswer = z
  .looseObject({
    error: z.string().meta({ description: 'Machine code: branch on this.' }),
    error_description: z.string().optional().meta({ description: 'For people; its wording may change.' }),
  })
  .meta({ id: 'Error' });

const orderAddress = z
  .looseObject({ ...addressInputSchema.shape, id: idSchema })
  .meta({ id: 'OrderAddress', description: 'Its id can be the `recipient_address_id` of a later order.' });

const orderAnswer = z
  .looseObject({ ...strict(orderSchema.shape), recipient_address: orderAddress.optional() })
  .meta({ id: 'Order', description: '`shipments` is absent until the courier booking completes.' });

export const orderEnvelope = z.looseObject({ request_id: requestId, order: orderAnswer });

const storeAddress = z
  .looseObject({ ...orderAddress.shape, is_primary: z.boolean() })
  .meta({ id: 'StoreAddress', description: 'Its id can be the `sender_address_id` of an order.' });

export const addressListAnswer = z.looseObject({
  ...strict(addressListResponseSchema.shape),
  request_id: requestId,
  addresses: z.array(storeAddress).meta({ description: 'Primary first, then oldest first.' }),
});

const productRow = z
  .looseObject({ ...strict(productRowSchema.shape), image_url: uri.optional() })
  .meta({ id: 'Product' });

export const productListAnswer = z.looseObject({
  ...strict(productListResponseSchema.shape),
  request_id: requestId,
  products: z.array(productRow),
});

const shippingRate = z
  .looseObject({ ...strict(shippingRateSchema.shape), shipping_type: z.enum(shippingTypes) })
  .meta({ id: 'ProductShippingRate' });

const productVariantDetail = z
  .looseObject({
    ...strict(productVariantDetailSchema.shape),
    img_url: uri.optional(),
    thumbnail_url: uri.optional(),
    tiny_img_url: uri.optional(),
    weight: z.int(),
  })
  .meta({ id: 'ProductVariantDetail' });

const productDetail = z
  .looseObject({
    ...strict(productDetailSchema.shape),
    description: z.string().meta({ description: 'Empty when there is none.' }),
    img_uris: z.array(uri),
    thumbnail_uris: z.array(uri),
    tiny_img_uris: z.array(uri),
    category: z.looseObject(strict(categorySchema.shape)).optional(),
    shipping_rates: z.array(shippingRate).optional(),
    seller_shipping_rates: z.array(shippingRate).optional(),
    variants: z.array(productVariantDetail).min(1),
  })
  .meta({ id: 'ProductDetail' });

export const productDetailAnswer = z.looseObject({ request_id: requestId, product: productDetail });

const stockChange = z
  .looseObject({
    ...strict(stockItemSchema.shape),
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
  ...strict(webhookEnvelopeSchema.shape),
  event_type: z.literal(STOCK_AVAILABLE_UPDATED),
  request_time: epochMsSchema,
  data: z.looseObject({ items: z.array(stockChange).min(1) }),
});

export type OrderAnswer = z.input<typeof orderAnswer>;
export type RenderedProduct = z.input<typeof productDetail>;
export type SentItem = z.input<typeof stockChange>;
