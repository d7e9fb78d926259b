/** Unknown fields are never refused ("Versioning" 2); `null` means absent ("Conventions" 4). */
import { z } from 'zod';

/** An identifier: digits in a JSON string, opaque ("Conventions" 1). */
export const idSchema = z.string().regex(/^[0-9]+$/);

/** A decimal string, baht ("Conventions" 3). */
const moneySchema = z.string().regex(/^-?[0-9]+(\.[0-9]+)?$/);

/** Epoch milliseconds ("Conventions" 2). */
export const epochMsSchema = z.int();

/** Negative if the variant allows it. */
const levelSchema = z.int();

export const offsetSchema = z.int().min(0);

export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** Reads an odd value of a field that nothing here depends on as absent, so that the rest can be read. */
export function lenient<T extends z.ZodType>(schema: T) {
  return optional(schema).catch(undefined);
}

const digitsSchema = z.string().regex(/^[0-9]+$/);

/** Opaque, but it must fit in an `Authorization` header. */
export const accessTokenSchema = z.string().regex(/^[\x21-\x7e]+$/);

export const tokenResponseSchema = z.looseObject({
  access_token: accessTokenSchema,
  token_type: z.string().regex(/^bearer$/i),
  /** Seconds. Some gateways write numbers as text. */
  expires_in: z
    .union([z.number(), digitsSchema.transform(Number)])
    .pipe(z.number().min(1).max(Number.MAX_SAFE_INTEGER)),
});

export const errorResponseSchema = z.looseObject({
  error: z.string(),
  error_description: z.string().catch(''),
});

export const productRowSchema = z.looseObject({
  id: idSchema,
  name: z.string(),
  image_url: lenient(z.string()),
});

export const productListResponseSchema = z.looseObject({
  request_id: lenient(z.string()),
  products: z.array(productRowSchema),
  total: lenient(z.int().nonnegative()),
  has_more: z.boolean(),
});

const productSortFields = ['update_time', 'create_time', 'name', 'id'] as const;
const sortOrders = ['desc', 'asc'] as const;

/** The store refuses unknown keys ("Conventions" 5). */
export const productListRequestSchema = z.strictObject({
  limit: z.int().min(1).max(100).optional(),
  offset: offsetSchema.optional(),
  query: z.string().optional(),
  sort_by: z.enum(productSortFields).optional(),
  sort_order: z.enum(sortOrders).optional(),
  get_count: z.boolean().optional(),
});

const warehouseLevelSchema = z.looseObject({
  wh_id: idSchema,
  on_hand: levelSchema,
  available_qty: levelSchema,
  reserved_qty: levelSchema,
});

const variantPriceSchema = z.looseObject({
  id: idSchema,
  price_tier_id: idSchema,
  price: moneySchema,
});

/** `init_price` for the first `init_qty` units, `next_price` for each further unit. */
export const shippingRateSchema = z.looseObject({
  id: idSchema,
  /** A shipping type of orders, or an unknown one. */
  shipping_type: z.string(),
  is_cod: z.boolean(),
  init_qty: z.int(),
  init_price: moneySchema,
  next_price: moneySchema,
  create_time: lenient(epochMsSchema),
  update_time: lenient(epochMsSchema),
});

export const categorySchema = z.looseObject({
  id: idSchema,
  name: z.string(),
  color: lenient(z.string()),
});

const volumeDiscountSchema = z.looseObject({ price_tier_id: idSchema, vd_id: idSchema });

/** The first picture is the main one. The three lists hold the same pictures in the same order. */
const picturesSchema = lenient(z.array(z.string()));

export const productVariantDetailSchema = z.looseObject({
  product_variant_id: idSchema,
  name: z.string(),
  create_time: lenient(epochMsSchema),
  update_time: optional(epochMsSchema),
  sku: optional(z.string()),
  upc: optional(z.string()),
  pulled_from_product_variant_id: optional(idSchema),
  product_bundle_id: optional(idSchema),
  bundled_pp_count: lenient(z.int()),
  bundled_sum_qty: lenient(z.int()),
  bundled_by_count: optional(z.int()),
  product_assembly_id: optional(idSchema),
  assembled_pp_count: lenient(z.int()),
  assembled_sum_qty: lenient(z.int()),
  allow_negative_stock: optional(z.boolean()),
  prices: optional(z.array(variantPriceSchema)),
  cost: optional(moneySchema),
  available_qty: levelSchema,
  on_hand: optional(levelSchema),
  reserved_qty: optional(levelSchema),
  /** Own products only; absent means unknown, not none. */
  warehouses: optional(z.array(warehouseLevelSchema)),
  img_url: lenient(z.string()),
  thumbnail_url: lenient(z.string()),
  tiny_img_url: lenient(z.string()),
  /** The unit is not documented. */
  weight: lenient(z.int()),
});

export const productDetailSchema = z.looseObject({
  id: idSchema,
  name: z.string(),
  store_id: idSchema,
  create_time: lenient(epochMsSchema),
  update_time: optional(epochMsSchema),
  parent_id: optional(idSchema),
  has_child: lenient(z.boolean()),
  warehouse_ids: lenient(z.array(idSchema)),
  variants: z.array(productVariantDetailSchema).min(1),
  description: lenient(z.string()),
  img_uris: picturesSchema,
  thumbnail_uris: picturesSchema,
  tiny_img_uris: picturesSchema,
  category: lenient(categorySchema),
  price_tier_ids: lenient(z.array(idSchema)),
  pg_vd_ids: lenient(z.array(volumeDiscountSchema)),
  shipping_rates: lenient(z.array(shippingRateSchema)),
  /** Pulled products only. */
  seller_shipping_rates: lenient(z.array(shippingRateSchema)),
  /** The lowest and highest price of a variant, across price tiers. */
  min: lenient(moneySchema),
  max: lenient(moneySchema),
});

export const productDetailResponseSchema = z.looseObject({
  request_id: optional(z.string()),
  product: productDetailSchema,
});

export const productDetailRequestSchema = z.strictObject({ product_id: idSchema });

export const STOCK_AVAILABLE_UPDATED = 'stock_available_updated';

/** The envelope of every event; `data` depends on the event type. */
export const webhookEnvelopeSchema = z.looseObject({
  request_id: z.string().min(1),
  event_type: z.string().min(1),
  request_time: z.number(),
  data: z.looseObject({}),
});

/** One change of a `stock_available_updated` delivery. */
export const stockItemSchema = z.looseObject({
  id: idSchema,
  sku: z.string().nullish(),
  old: levelSchema,
  new: levelSchema,
  warehouse_id: idSchema,
  update_time: epochMsSchema,
  reason: z.string().nullish(),
  // Additional information: the change counts whatever these contain.
  order_id: z.string().nullish(),
  user_id: z.string().nullish(),
});

export const stockAvailableUpdatedSchema = webhookEnvelopeSchema.extend({
  event_type: z.literal(STOCK_AVAILABLE_UPDATED),
  data: z.looseObject({ items: z.array(stockItemSchema) }),
});

export type ProductListRequest = z.infer<typeof productListRequestSchema>;
export type ProductRow = z.infer<typeof productRowSchema>;
export type ProductListResponse = z.infer<typeof productListResponseSchema>;
export type ProductDetail = z.infer<typeof productDetailSchema>;
export type ProductVariantDetail = z.infer<typeof productVariantDetailSchema>;
export type ProductCategory = z.infer<typeof categorySchema>;
export type ShippingRate = z.infer<typeof shippingRateSchema>;
export type WarehouseLevel = z.infer<typeof warehouseLevelSchema>;
export type WebhookEnvelope = z.infer<typeof webhookEnvelopeSchema>;
export type StockItem = z.infer<typeof stockItemSchema>;
