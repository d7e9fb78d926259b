import { expect } from 'vitest';
import { present } from '../shared/present.ts';
import { STORE_ID } from '../../src/sandbox/world/render.ts';
import { recipient, type Json } from '../sandbox/harness.ts';
import { rule, secondToken, type Context } from './contract.ts';
import { fieldRule } from './fields.ts';
import { expectRefused, type Answer } from './raw.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';
const ADDRESSES = '/v1/store/address/list';
const LIST = '/v1/product/list';
const PRODUCT = '/v1/product/detail';

const SECONDS = 1_790_000_000;
const MS = 1_790_000_000_000;
const TIMES = ['order_time', 'expiration_time', 'ship_deadline_time'] as const;

/** One 200 of every /v1 endpoint, among them an order with a shipment. */
async function rightAnswers({ raw, body, sandbox, advance }: Context): Promise<Record<string, Answer>> {
  const created = await raw.post(CREATE, body({ external_order_id: 'A-1', ship_before_pay: true }));
  advance(60_000);
  const details = await Promise.all(
    sandbox.truth.products.map(({ id }) => raw.post(PRODUCT, { product_id: id })),
  );
  return {
    created,
    read: await raw.post(DETAIL, { external_order_id: 'A-1' }),
    addresses: await raw.post(ADDRESSES),
    listed: await raw.post(LIST, { limit: 100 }),
    ...Object.fromEntries(details.map((answer, index) => [`product ${index}`, answer])),
  };
}

/** Every field at any depth. */
function fieldsOf(value: unknown): (readonly [name: string, value: unknown])[] {
  if (Array.isArray(value)) return value.flatMap(fieldsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [[name, inner] as const, ...fieldsOf(inner)]);
}

async function seenFields(context: Context) {
  const answers = Object.values(await rightAnswers(context));
  for (const { status } of answers) expect(status).toBe(200);
  return answers.flatMap(({ body }) => fieldsOf(body));
}

const line =
  (fields: Json) =>
  ({ lamp }: Context) => ({ products: [{ product_variant_id: lamp.id, qty: 1, ...fields }] });

const ID_FIELD = /^id$|(^|_)(id|ids)$/;
/** Ids chosen by the partner, and a number on a tax invoice. */
const NOT_THE_SERVICES = ['request_id', 'external_order_id', 'legal_entity_id', 'pg_vd_ids'];

rule('conventions.1', 'answers ids as strings of digits', async (context) => {
  const ids = (await seenFields(context)).filter(
    ([name]) => ID_FIELD.test(name) && !NOT_THE_SERVICES.includes(name),
  );
  expect(new Set(ids.map(([name]) => name))).toEqual(
    new Set([
      ...['id', 'product_variant_id', 'store_id', 'price_tier_id', 'price_tier_ids', 'vd_id'],
      ...['warehouse_ids', 'wh_id', 'parent_id', 'pulled_from_product_variant_id'],
      ...['product_bundle_id', 'product_assembly_id'],
    ]),
  );
  for (const [name, value] of ids) {
    for (const id of [value].flat()) expect([name, id]).toEqual([name, expect.stringMatching(/^[0-9]+$/)]);
  }
  // Some are too large for a number.
  const different = [...new Set(ids.flatMap(([, value]) => value))];
  expect(new Set(different.map(Number)).size).toBeLessThan(different.length);
});

fieldRule('conventions.1', 'refuses an id that is a number', {
  path: CREATE,
  refused: [
    [line({ product_variant_id: 12 }), 'products[0].product_variant_id'],
    [{ recipient_address: null, recipient_address_id: 5 }, 'recipient_address_id'],
    [{ sender_address_id: 5 }, 'sender_address_id'],
  ],
});

rule('conventions.2', 'answers every _time in epoch milliseconds', async (context) => {
  const times = (await seenFields(context)).filter(([name]) => name.endsWith('_time'));
  expect(times.length).toBeGreaterThan(50);
  for (const [name, value] of times) {
    expect([name, Number.isSafeInteger(value)]).toEqual([name, true]);
    // From 2020 to 2100.
    expect(value).toBeGreaterThan(1_577_000_000_000);
    expect(value).toBeLessThan(4_102_000_000_000);
  }
});

fieldRule('conventions.2', 'refuses seconds and text as a time', {
  path: CREATE,
  taken: TIMES.map((field) => [{ [field]: MS }]),
  refused: TIMES.flatMap((field) => [
    [{ [field]: SECONDS }, field] as const,
    [{ [field]: String(MS) }, field] as const,
    [{ [field]: MS + 0.5 }, field] as const,
  ]),
});

fieldRule('conventions.3', 'accepts an amount as a number or a numeric string', {
  path: CREATE,
  taken: [
    [{ discount: 10.5 }],
    [{ discount: '10.5' }],
    [{ other_fee: 0.1, shipping_fee: '0.2' }],
    [{ shipping_fee: 1e-7 }],
  ],
  refused: ['12 baht', '', '1,000', '1e3', '.5', true].map((discount) => [{ discount }, 'discount']),
});

fieldRule('conventions.4', 'reads null as absent at any depth', {
  path: CREATE,
  taken: [
    [
      ({ lamp }) => ({
        recipient_address_id: null,
        discount: null,
        order_time: null,
        external_order_id: null,
        is_cod: null,
        cod_fee: null,
        cod_amount: null,
        sender_address_id: null,
        sender_name: null,
        recipient_address: { ...recipient, email: null, note: null },
        products: [{ product_variant_id: lamp.id, sku: null, qty: 1, price: null }],
      }),
    ],
  ],
  refused: [
    [{ shipping_type: null }, 'shipping_type'],
    [line({ qty: null }), 'products[0].qty'],
    [{ products: [null] }, 'products[0]'],
  ],
});

rule('conventions.4', 'answers no null', async (context) => {
  for (const [name, value] of await seenFields(context)) expect([name, value]).not.toEqual([name, null]);
  expect((await seenFields(context)).length).toBeGreaterThan(500);
});

rule('conventions.6.body', 'repeats the request id of the header', async (context) => {
  for (const { headers, body } of Object.values(await rightAnswers(context))) {
    expect(body['request_id']).toBe(headers.get('x-request-id'));
  }
});

rule('conventions.7', 'refuses a store_id everywhere', async ({ raw, body }) => {
  for (const [path, right] of [
    [CREATE, body()],
    [DETAIL, { order_id: '5' }],
    [ADDRESSES, {}],
    [LIST, {}],
    [PRODUCT, { product_id: '5' }],
  ] as const) {
    expectRefused(await raw.post(path, { ...right, store_id: STORE_ID }), 'store_id');
  }
});

rule('conventions.7', 'reaches the same store with another app’s token', async (context) => {
  const { raw, lamp } = context;
  const token = await secondToken(context);
  const answer = await raw.post(PRODUCT, { product_id: lamp.product.id }, { token });
  expect(answer.body['product']).toMatchObject({ id: lamp.product.id, store_id: STORE_ID });
});

rule('conventions.8.body', 'ignores the query string', async ({ raw, lamp, sandbox }) => {
  const { id } = lamp.product;
  expectRefused(await raw.post(`${PRODUCT}?product_id=${id}`, {}), 'product_id');
  expectRefused(await raw.post(`${DETAIL}?order_id=5`, {}), 'order_id');
  const other = present(sandbox.truth.products[0]).id;
  const answer = await raw.post(`${PRODUCT}?product_id=${other}`, { product_id: id });
  expect(answer.body['product']).toMatchObject({ id });
});
