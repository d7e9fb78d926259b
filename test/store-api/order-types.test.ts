/** The contract's forbidden combinations do not compile: `npm run typecheck` fails where an expected error is missing. */
import { expect, expectTypeOf, test } from 'vitest';
import type { Client } from '../../src/client.ts';
import type { CatalogueClient } from '../../src/store-api/client.ts';
import { createOrderRequestSchema } from '../../src/store-api/contract/order-schemas.ts';
import type {
  AddressInput,
  AddressListRequest,
  CreateOrderRequest,
  Order,
  OrderDetailRequest,
  OrderLine,
} from '../../src/store-api/contract/order-schemas.ts';

const line: OrderLine = { sku: 'A', qty: 1 };
const base = { shipping_type: 'ems', products: [line], recipient_address_id: '5' } as const;
const address: AddressInput = { name: 'a' };

export const wrongOrders: readonly CreateOrderRequest[] = [
  // @ts-expect-error both recipients
  { ...base, recipient_address: address },
  // @ts-expect-error no recipient
  { shipping_type: 'ems', products: [line] },
  // @ts-expect-error a recipient's id that is a number
  { ...base, recipient_address_id: 5 },
  // @ts-expect-error a sender's id that is a number
  { ...base, sender_address_id: 5 },
  // @ts-expect-error no products
  { ...base, products: [] },
  // @ts-expect-error a courier that is none
  { ...base, shipping_type: 'pigeon' },
  // @ts-expect-error a COD fee without COD
  { ...base, cod_fee: 10 },
  // @ts-expect-error a COD amount without COD
  { ...base, is_cod: false, cod_amount: 10 },
  // @ts-expect-error COD without its amounts
  { ...base, is_cod: true },
  // @ts-expect-error COD without its fee
  { ...base, is_cod: true, cod_amount: 10 },
  // @ts-expect-error an unknown field
  { ...base, store_id: '1' },
  // @ts-expect-error a time that is a Date
  { ...base, order_time: new Date(0) },
  // @ts-expect-error an address without a name
  { shipping_type: 'ems', products: [line], recipient_address: {} },
];

export const wrongLines: readonly OrderLine[] = [
  // @ts-expect-error both a variant and a SKU
  { sku: 'A', product_variant_id: '7', qty: 1 },
  // @ts-expect-error neither a variant nor a SKU
  { qty: 1 },
  // @ts-expect-error a variant's id that is a number
  { product_variant_id: 7, qty: 1 },
  // @ts-expect-error no quantity
  { sku: 'A' },
];

export const wrongDetails: readonly OrderDetailRequest[] = [
  // @ts-expect-error both of the ids
  { order_id: '1', external_order_id: 'A' },
  // @ts-expect-error neither of the ids
  {},
  // @ts-expect-error an id that is a number
  { order_id: 1 },
];

export const wrongAddresses: readonly AddressInput[] = [
  // @ts-expect-error a postal code that is a text
  { name: 'a', postal_code: '10110' },
  // @ts-expect-error a branch type that is none
  { name: 'a', branch_type: 'x' },
  // @ts-expect-error an unknown field
  { name: 'a', city: 'x' },
];

// @ts-expect-error a page's size that is a text
export const wrongPage: AddressListRequest = { limit: '10' };

const rightOrders: readonly CreateOrderRequest[] = [
  base,
  { shipping_type: 'kex', products: [line, { product_variant_id: '7', qty: 2 }], recipient_address: address },
  { ...base, is_cod: true, cod_fee: 0, cod_amount: '100.50' },
  { ...base, is_cod: false },
];

test('what is documented compiles, and passes', () => {
  for (const right of rightOrders) expect(createOrderRequestSchema.safeParse(right).success).toBe(true);
});

test('the types tell what may be absent, and whom the mirror may ask', () => {
  expectTypeOf<Order['id']>().toEqualTypeOf<string>();
  expectTypeOf<undefined>().toExtend<Order['shipments']>();
  expectTypeOf<Parameters<Client['createOrder']>[0]>().toEqualTypeOf<CreateOrderRequest>();
  expectTypeOf<keyof CatalogueClient>().toEqualTypeOf<'listProducts' | 'productDetail'>();
  // A product that was not found has no product.
  type Answer = Awaited<ReturnType<Client['orderDetail']>>;
  expectTypeOf<Extract<Answer, { outcome: 'not_found' }>>().not.toHaveProperty('order');
  expectTypeOf<Extract<Answer, { outcome: 'found' }>['order']>().toEqualTypeOf<Order>();
  // The retried calls have no part in the mirror: its client is the plain one.
  expectTypeOf<CatalogueClient>().not.toExtend<Client>();
});
