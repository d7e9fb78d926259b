/** Each documented rule of a request, refused before anything is sent, with the field that the service would name. */
import { expect, test } from 'vitest';
import { ServiceError } from '../../src/store-api/transport/errors.ts';
import type { ServiceClient } from '../../src/store-api/client.ts';
import { connect, failureOf } from './connection.ts';
import { startStubService } from './stub-service.ts';

const line = { sku: 'A', qty: 1 };
const base = { shipping_type: 'ems', products: [line], recipient_address_id: '5' };
const withLine = (over: object) => ({ ...base, products: [line, { ...line, ...over }] });
const { recipient_address_id: _, ...noRecipient } = base;
const withAddress = (over: object) => ({ ...noRecipient, recipient_address: { name: 'a', ...over } });

type Refused = readonly [rule: string, body: unknown, description: RegExp];

const CREATE: readonly Refused[] = [
  ['a body that is no object', 7, /^Invalid input/],
  ['no shipping_type', { ...base, shipping_type: undefined }, /^shipping_type: /],
  ['an unsupported shipping_type', { ...base, shipping_type: 'pigeon' }, /^shipping_type: /],
  ['no products', { ...base, products: undefined }, /^products: /],
  ['empty products', { ...base, products: [] }, /^products: /],
  ['an unknown field', { ...base, store_id: '1' }, /"store_id"/],
  ['an unknown field of a line', withLine({ note: 'x' }), /^products\[1\]: .*"note"/],
  ['an unknown field of an address', withAddress({ city: 'x' }), /^recipient_address: .*"city"/],
  [
    'a line by variant and by sku',
    withLine({ product_variant_id: '7' }),
    /^products\[1\]\.product_variant_id: only one/,
  ],
  ['a line by neither', withLine({ sku: undefined }), /^products\[1\]\.product_variant_id: .* is required/],
  [
    'a variant id that is a number',
    withLine({ sku: undefined, product_variant_id: 7 }),
    /^products\[1\]\.product_variant_id: /,
  ],
  ['an id that is not digits', { ...base, recipient_address_id: 'A5' }, /^recipient_address_id: /],
  ['a sender id that is a number', { ...base, sender_address_id: 5 }, /^sender_address_id: /],
  ['qty 0', withLine({ qty: 0 }), /^products\[1\]\.qty: /],
  ['a broken qty', withLine({ qty: 1.5 }), /^products\[1\]\.qty: /],
  ['qty as a text', withLine({ qty: '1' }), /^products\[1\]\.qty: /],
  ['no qty', withLine({ qty: undefined }), /^products\[1\]\.qty: /],
  ['a negative price', withLine({ price: -1 }), /^products\[1\]\.price: must not be negative/],
  [
    'a price below zero by less than a number can tell',
    withLine({ price: `-0.${'0'.repeat(400)}1` }),
    /must not be negative/,
  ],
  ['a price that is no amount', withLine({ price: '1,000' }), /^products\[1\]\.price: must be an amount/],
  ['a price that is not a number', withLine({ price: NaN }), /^products\[1\]\.price: must be an amount/],
  ['both recipients', { ...base, recipient_address: { name: 'a' } }, /^recipient_address: only one/],
  ['no recipient', noRecipient, /^recipient_address: .* is required/],
  ['an address without a name', withAddress({ name: undefined }), /^recipient_address\.name: /],
  ['a postal code as a text', withAddress({ postal_code: '10110' }), /^recipient_address\.postal_code: /],
  [
    'a postal code of four digits',
    withAddress({ postal_code: 1011 }),
    /^recipient_address\.postal_code: must have five/,
  ],
  [
    'a postal code of six digits',
    withAddress({ postal_code: 101100 }),
    /^recipient_address\.postal_code: must have five/,
  ],
  ['an email that is none', withAddress({ email: 'som at example' }), /^recipient_address\.email: /],
  ['an unknown branch_type', withAddress({ branch_type: 'x' }), /^recipient_address\.branch_type: /],
  [
    'an external id of 129 characters',
    { ...base, external_order_id: 'x'.repeat(129) },
    /^external_order_id: .*128/,
  ],
  ['an external id that is a number', { ...base, external_order_id: 1 }, /^external_order_id: /],
  [
    'a label note of 1001 characters',
    { ...base, shipping_label_note: 'x'.repeat(1001) },
    /^shipping_label_note: .*1000/,
  ],
  ['a private note of 1001 characters', { ...base, private_note: 'x'.repeat(1001) }, /^private_note: .*1000/],
  ['COD without its fee', { ...base, is_cod: true, cod_amount: 1 }, /^cod_fee: is required/],
  ['COD without its amount', { ...base, is_cod: true, cod_fee: 1 }, /^cod_amount: is required/],
  ['a COD fee without COD', { ...base, cod_fee: 1 }, /^cod_fee: is accepted only/],
  [
    'a COD amount with is_cod false',
    { ...base, is_cod: false, cod_amount: 1 },
    /^cod_amount: is accepted only/,
  ],
  [
    'a negative COD fee',
    { ...base, is_cod: true, cod_fee: -1, cod_amount: 1 },
    /^cod_fee: must not be negative/,
  ],
  [
    'a negative COD amount',
    { ...base, is_cod: true, cod_fee: 1, cod_amount: '-1' },
    /^cod_amount: must not be negative/,
  ],
  ['a negative discount', { ...base, discount: '-0.01' }, /^discount: must not be negative/],
  ['a negative shipping fee', { ...base, shipping_fee: -1 }, /^shipping_fee: must not be negative/],
  ['a negative other fee', { ...base, other_fee: -1 }, /^other_fee: must not be negative/],
  ['a flag as a text', { ...base, ship_before_pay: 'yes' }, /^ship_before_pay: /],
  ['order_time in seconds', { ...base, order_time: 1_790_000_000 }, /^order_time: .*milliseconds/],
  [
    'expiration_time in seconds',
    { ...base, expiration_time: 1_790_000_000 },
    /^expiration_time: .*milliseconds/,
  ],
  [
    'ship_deadline_time in seconds',
    { ...base, ship_deadline_time: 1_790_000_000 },
    /^ship_deadline_time: .*milliseconds/,
  ],
  ['a time as a text', { ...base, order_time: '2026-09-21' }, /^order_time: /],
  ['a null in the list of lines', { ...base, products: [null] }, /^products\[0\]: /],
];

const DETAIL: readonly Refused[] = [
  ['no id', {}, /^order_id: .* is required/],
  ['both ids', { order_id: '1', external_order_id: 'A' }, /^order_id: only one/],
  ['an order id that is a number', { order_id: 1 }, /^order_id: /],
  ['an unknown field', { order_id: '1', id: '1' }, /"id"/],
];

const ADDRESSES: readonly Refused[] = [
  ['limit 0', { limit: 0 }, /^limit: /],
  ['limit 201', { limit: 201 }, /^limit: /],
  ['a negative offset', { offset: -1 }, /^offset: /],
  ['an unknown field', { query: 'x' }, /"query"/],
];

const ALL = [
  ...CREATE.map((refused) => ['createOrder', ...refused] as const),
  ...DETAIL.map((refused) => ['orderDetail', ...refused] as const),
  ...ADDRESSES.map((refused) => ['listAddresses', ...refused] as const),
];

test.each(ALL)('%s refuses %s', async (method, _rule, body, description) => {
  const { client, requests } = await connected();

  const error = await failureOf((client[method] as (body: unknown) => Promise<unknown>)(body));

  expect(error).toMatchObject({ kind: 'rejected', code: 'invalid_request', status: undefined });
  expect(error.description).toMatch(description);
  expect(error.description).toMatch(/ \(not sent\)$/);
  expect(requests).toEqual([]);
});

test.each([
  ['the least', base],
  ['every courier', { ...base, shipping_type: 'spx_pickup' }],
  ['notes of 1000 characters that take two units each', { ...base, private_note: '🙂'.repeat(1000) }],
  ['an external id of 128 characters', { ...base, external_order_id: 'x'.repeat(128) }],
  ['amounts as numbers and as texts', { ...base, discount: 0, shipping_fee: '40.50', other_fee: 1e-2 }],
  ['COD for nothing', { ...base, is_cod: true, cod_fee: '0', cod_amount: 0 }],
  ['an email in Thai', withAddress({ email: 'สมหญิง@ตัวอย่าง.ไทย' })],
])('%s is sent', async (_what, body) => {
  const { client, requests } = await connected();

  const outcome: unknown = await (client.createOrder as (body: unknown) => Promise<unknown>)(body).catch(
    (error: unknown) => error,
  );

  // The stub knows no such endpoint: what matters is that it was asked.
  expect(outcome).toMatchObject({ status: 404 });
  expect(outcome).toBeInstanceOf(ServiceError);
  expect(JSON.parse(requests.at(-1)?.body ?? '')).toEqual(body);
});

async function connected(): Promise<{ client: ServiceClient; requests: readonly { body: string }[] }> {
  const service = await startStubService();
  return { client: connect({ baseUrl: service.baseUrl }).client, requests: service.requests };
}
