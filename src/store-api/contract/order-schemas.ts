/**
 * Orders and addresses. Requests are checked as by the store ("Conventions" 1 to 5); answers may have new fields and
 * values ("Versioning" 2).
 */
import { z } from 'zod';
import { idSchema, lenient, offsetSchema, optional } from './schemas.ts';

export const shippingTypes = ['ecopost', 'ems', 'flash', 'jt', 'kex', 'spx_dropoff', 'spx_pickup'] as const;

const NOT_AN_AMOUNT = 'must be an amount: a number, or a numeric string';

/** A number or a numeric string, in baht ("Conventions" 3). */
const moneyInputSchema = z.union(
  [z.number(), z.string().regex(/^-?[0-9]+(\.[0-9]+)?$/, NOT_AN_AMOUNT)],
  NOT_AN_AMOUNT,
);

/** By its digits, because a number would round a long fraction. */
const NOT_NEGATIVE = /^([0-9]+(\.[0-9]+)?|-0+(\.0+)?)$/;

const positiveMoney = moneyInputSchema.refine(
  (amount) => (typeof amount === 'number' ? amount >= 0 : NOT_NEGATIVE.test(amount)),
  'must not be negative',
);

/** Smaller values are times in seconds: this one is 1973 in milliseconds, and 5138 in seconds. */
const FIRST_MS = 100_000_000_000;

/** Epoch ms ("Conventions" 2). */
const epochMsInputSchema = z.int().min(FIRST_MS, 'must be epoch milliseconds, not seconds');

/** Counts characters: one may take two UTF-16 units. */
function textUpTo(maxCharacters: number) {
  return z
    .string()
    .refine(
      (text) => Array.from(text).length <= maxCharacters,
      `must have at most ${maxCharacters} characters`,
    );
}

const addressFields = {
  name: z.string(),
  telephone: z.string().optional(),
  address1: z.string().optional(),
  address2: z.string().optional(),
  address3: z.string().optional(),
  sub_district: z.string().optional(),
  district: z.string().optional(),
  province: z.string().optional(),
  postal_code: z.int().min(10_000, 'must have five digits').max(99_999, 'must have five digits').optional(),
  email: z.email({ pattern: z.regexes.unicodeEmail }).optional(),
  note: z.string().optional(),
  legal_entity_id: z.string().optional(),
  legal_entity_type: z.int().optional(),
  branch_type: z.enum(['h', 'b']).optional(),
  branch_number: z.string().optional(),
};

/** An address in a request ("Address"). A shipping label needs more than the name. */
const addressInputSchema = z.strictObject(addressFields);

/** A stored address in an answer ("OrderAddress"): an odd field must not cost the caller the whole list. */
const addressSchema = z.looseObject({
  id: idSchema,
  name: z.string(),
  telephone: lenient(z.string()),
  address1: lenient(z.string()),
  address2: lenient(z.string()),
  address3: lenient(z.string()),
  sub_district: lenient(z.string()),
  district: lenient(z.string()),
  province: lenient(z.string()),
  postal_code: lenient(z.int()),
  email: lenient(z.string()),
  note: lenient(z.string()),
  legal_entity_id: lenient(z.string()),
  legal_entity_type: lenient(z.int()),
  branch_type: lenient(z.string()),
  branch_number: lenient(z.string()),
});

/** One of the store's own addresses ("StoreAddress"). */
const storeAddressSchema = addressSchema.extend({ is_primary: z.boolean() });

export const addressListRequestSchema = z.strictObject({
  limit: z.int().min(1).max(200).optional(),
  offset: offsetSchema.optional(),
});

export const addressListResponseSchema = z.looseObject({
  request_id: lenient(z.string()),
  addresses: z.array(storeAddressSchema),
  has_more: z.boolean(),
});

/** Exactly one of the two fields is required. */
function exactlyOne(first: string, second: string) {
  return (value: object, context: z.RefinementCtx): void => {
    const has = (field: string): boolean => (value as Record<string, unknown>)[field] !== undefined;
    if (has(first) !== has(second)) return;
    const problem = has(first)
      ? `only one of ${first} and ${second} may be sent`
      : `${first} or ${second} is required`;
    context.addIssue({ code: 'custom', path: [first], message: problem });
  };
}

/** One line of an order ("CreateOrderProduct"). */
const orderLineSchema = z
  .strictObject({
    product_variant_id: idSchema.optional(),
    sku: z.string().optional(),
    qty: z.int().min(1),
    price: positiveMoney.optional(),
  })
  .superRefine(exactlyOne('product_variant_id', 'sku'));

const COD_FIELDS = ['cod_fee', 'cod_amount'] as const;

function createOrderSchema<ShippingTypes extends z.ZodType<string, string>>(
  shippingTypeSchema: ShippingTypes,
) {
  return z
    .strictObject({
      shipping_type: shippingTypeSchema,
      products: z.array(orderLineSchema).min(1),
      recipient_address: addressInputSchema.optional(),
      recipient_address_id: idSchema.optional(),
      external_order_id: textUpTo(128).optional(),
      is_cod: z.boolean().optional(),
      cod_fee: positiveMoney.optional(),
      cod_amount: positiveMoney.optional(),
      sender_name: z.string().optional(),
      sender_address_id: idSchema.optional(),
      channel: z.string().optional(),
      discount: positiveMoney.optional(),
      shipping_fee: positiveMoney.optional(),
      other_fee: positiveMoney.optional(),
      ship_before_pay: z.boolean().optional(),
      auto_request_xshipping: z.boolean().optional(),
      shipping_label_note: textUpTo(1_000).optional(),
      private_note: textUpTo(1_000).optional(),
      order_time: epochMsInputSchema.optional(),
      expiration_time: epochMsInputSchema.optional(),
      ship_deadline_time: epochMsInputSchema.optional(),
    })
    .superRefine(exactlyOne('recipient_address', 'recipient_address_id'))
    .superRefine((order, context) => {
      for (const field of COD_FIELDS) {
        const isSent = order[field] !== undefined;
        if (isSent === (order.is_cod === true)) continue;
        const message = isSent ? 'is accepted only when is_cod is true' : 'is required when is_cod is true';
        context.addIssue({ code: 'custom', path: [field], message });
      }
    });
}

/** An order as the contract allows it. */
export const createOrderRequestSchema = createOrderSchema(z.enum(shippingTypes));

/** An order as the client sends it: the store may have new couriers. */
export const sentOrderSchema = createOrderSchema(z.string().min(1));

export const orderDetailRequestSchema = z
  .strictObject({ order_id: idSchema.optional(), external_order_id: z.string().optional() })
  .superRefine(exactlyOne('order_id', 'external_order_id'));

/** Little of the order is documented besides its id and its shipments. */
export const orderSchema = z.looseObject({
  id: idSchema,
  external_order_id: lenient(z.string()),
  /** Absent until the courier booking completes. An odd value must not read as absent: callers wait for it. */
  shipments: optional(z.array(z.looseObject({}))),
});

export const orderResponseSchema = z.looseObject({
  request_id: lenient(z.string()),
  order: orderSchema,
});

type Only<A, B> = A & { readonly [K in Exclude<keyof B, keyof A>]?: never };
type OneOf<A, B> = Only<A, B> | Only<B, A>;

export type ShippingType = (typeof shippingTypes)[number];
/** A shipping type that this version does not know. */
type OtherShippingType = string & Record<never, never>;
export type MoneyInput = number | string;
export type AddressInput = z.input<typeof addressInputSchema>;
export type Address = z.output<typeof addressSchema>;
export type StoreAddress = z.output<typeof storeAddressSchema>;
export type AddressListRequest = z.input<typeof addressListRequestSchema>;
export type AddressListResponse = z.output<typeof addressListResponseSchema>;
export type Order = z.output<typeof orderSchema>;

export type OrderLine = { readonly qty: number; readonly price?: MoneyInput } & OneOf<
  { readonly product_variant_id: string },
  { readonly sku: string }
>;

type Recipient = OneOf<
  { readonly recipient_address: AddressInput },
  { readonly recipient_address_id: string }
>;

type Payment =
  | { readonly is_cod: true; readonly cod_fee: MoneyInput; readonly cod_amount: MoneyInput }
  | { readonly is_cod?: false; readonly cod_fee?: never; readonly cod_amount?: never };

type PlainFields = Omit<
  z.input<typeof sentOrderSchema>,
  | 'shipping_type'
  | 'products'
  | 'recipient_address'
  | 'recipient_address_id'
  | 'is_cod'
  | 'cod_fee'
  | 'cod_amount'
>;

/** An order to create. Combinations that the contract forbids do not compile. */
export type CreateOrderRequest = PlainFields & {
  readonly shipping_type: ShippingType | OtherShippingType;
  readonly products: readonly [OrderLine, ...OrderLine[]];
} & Recipient &
  Payment;

export type OrderDetailRequest = OneOf<{ readonly order_id: string }, { readonly external_order_id: string }>;
