import { expect } from 'vitest';
import { sellable, type Variant } from '../../src/sandbox/world/model.ts';
import { present } from '../shared/present.ts';
import { lamp as newLamp, recipient, type Json } from '../sandbox/harness.ts';
import { rule, type Context } from './contract.ts';
import { fieldRule } from './fields.ts';
import { errorOf, expectRefused } from './raw.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';

const long = (length: number): string => 'ก'.repeat(length);
const sku = (text: unknown): Json => ({ products: [{ sku: text, qty: 1 }] });
const line =
  (fields: Json) =>
  ({ lamp }: Context): Json => ({ products: [{ product_variant_id: lamp.id, qty: 1, ...fields }] });
const pay = ({ steer }: Context, id: unknown) => steer('/pay', { order_id: id });
const shipmentsOf = async ({ read }: Context, id: unknown) => (await read(id))['shipments'];
const deletedProduct = ({ sandbox }: Context): Variant => {
  const gone = newLamp(sandbox, { sku: 'GONE-1' });
  sandbox.operations.deleteProduct(gone.product.id);
  return gone;
};

const text = (field: string, name: string, longest?: number): void =>
  fieldRule(`order-create.field.${field}`, name, {
    path: CREATE,
    taken: [
      [{ [field]: 'ข้อความ' }],
      ...(longest === undefined
        ? []
        : ([
            [{ [field]: long(longest) }],
            // One visible character of two UTF-16 units.
            [{ [field]: '📦'.repeat(longest) }],
          ] as const)),
    ],
    refused: [
      [{ [field]: 7 }, field],
      ...(longest === undefined ? [] : ([[{ [field]: long(longest + 1) }, field]] as const)),
    ],
  });

const flag = (field: string): void =>
  fieldRule(`order-create.field.${field}`, 'accepts only a boolean', {
    path: CREATE,
    taken: [[{ [field]: false }], ...(field === 'is_cod' ? [] : ([[{ [field]: true }]] as const))],
    refused: ['true', 1].map((value) => [{ [field]: value }, field]),
  });

const fee = (field: string): void =>
  fieldRule(`order-create.field.${field}`, 'accepts amounts from 0', {
    path: CREATE,
    taken: [10.5, '10.50', 0].map((amount) => [{ [field]: amount }]),
    refused: [-1, '-0.01', 'x'].map((amount) => [{ [field]: amount }, field]),
  });

const cod = { is_cod: true, cod_fee: 15, cod_amount: '265' };

rule('service.stock', 'reserves stock in the warehouse', async ({ lamp, order, raw }) => {
  await order({
    products: [
      { sku: 'LAMP-1', qty: 3 },
      { product_variant_id: lamp.id, qty: 1 },
    ],
  });
  const { body } = await raw.post('/v1/product/detail', { product_id: lamp.product.id });
  expect(body['product']).toMatchObject({
    variants: [{ available_qty: 6, on_hand: 10, reserved_qty: 4, warehouses: [{ reserved_qty: 4 }] }],
  });
});

rule('order.external_order_id', 'is answered again, or absent', async ({ order, read }) => {
  const made = await order({ external_order_id: 'A-1' });
  expect(made['external_order_id']).toBe('A-1');
  expect(await read(made['id'])).toEqual(made);
  expect(await order()).not.toHaveProperty('external_order_id');
});

fieldRule('order-line.field.product_variant_id', 'accepts only a live variant of the store', {
  path: CREATE,
  taken: [[line({})]],
  refused: [
    [line({ product_variant_id: '5' }), 'products[0].product_variant_id'],
    [line({ product_variant_id: 'x' }), 'products[0].product_variant_id'],
    [
      (context) => line({ product_variant_id: deletedProduct(context).id })(context),
      'products[0].product_variant_id',
    ],
  ],
});

fieldRule('order-line.field.sku', 'matches the SKU of a live product exactly', {
  path: CREATE,
  taken: [[sku('LAMP-1')]],
  refused: [
    ...['lamp-1', 'LAMP-1 ', ' LAMP-1', 'LAMP 1', 'LAMP1', 'LAMP-', '', 7].map(
      (text) => [sku(text), 'products[0].sku'] as const,
    ),
    [
      (context) => {
        deletedProduct(context);
        return sku('GONE-1');
      },
      'products[0].sku',
    ],
  ],
});

fieldRule(['order-line.field.qty', 'limits.order-lines'], 'accepts whole numbers from 1', {
  path: CREATE,
  taken: [[line({ qty: 1 })], [line({ qty: 3 })]],
  refused: [undefined, 0, -1, 1.5, '1'].map((qty) => [line({ qty }), 'products[0].qty']),
});

fieldRule('order-line.field.price', 'accepts amounts from 0', {
  path: CREATE,
  taken: [
    [line({ qty: 2 })],
    [line({ qty: 3, price: '9.99' })],
    [line({ price: 12.5 })],
    [line({ price: 0 })],
  ],
  refused: [-0.01, '-1', 'x'].map((price) => [line({ price }), 'products[0].price']),
});

fieldRule('order-line.exactly-one', 'refuses both and neither', {
  path: CREATE,
  refused: [
    [line({ sku: 'LAMP-1' }), 'products[0]'],
    [{ products: [{ qty: 1 }] }, 'products[0]'],
  ],
});

rule(
  ['order-line.shared-sku', 'errors.rule.3'],
  'refuses a shared SKU and names its variants',
  async ({ sandbox, lamp, raw, body }) => {
    const other = newLamp(sandbox, { sku: 'LAMP-1' });
    const deleted = newLamp(sandbox, { sku: 'LAMP-1' });
    sandbox.operations.deleteProduct(deleted.product.id);
    const answer = await raw.post(CREATE, body(sku('LAMP-1')));
    for (const named of ['products[0].sku', 'LAMP-1', lamp.id, other.id]) expectRefused(answer, named);
    expect(answer.body['error_description']).not.toContain(deleted.id);
    expect(sellable(lamp)).toBe(10);
    sandbox.operations.deleteProduct(other.product.id);
    expect((await raw.post(CREATE, body(sku('LAMP-1')))).status).toBe(200);
  },
);

fieldRule('order-line.additional', 'refuses an unknown field', {
  path: CREATE,
  refused: [[line({ colour: 'red' }), 'colour']],
});

fieldRule(['shipping-type.values', 'order-create.field.shipping_type'], 'accepts seven shipping types', {
  path: CREATE,
  taken: ['ecopost', 'ems', 'flash', 'jt', 'kex', 'spx_dropoff', 'spx_pickup'].map((type) => [
    { shipping_type: type },
  ]),
});

fieldRule(
  ['shipping-type.unsupported', 'order-create.field.shipping_type'],
  'refuses any other shipping type',
  {
    path: CREATE,
    refused: ['dhl', 'FLASH', '', 1, undefined].map((type) => [{ shipping_type: type }, 'shipping_type']),
  },
);

rule('states.auto.ship_before_pay', 'books one shipment before payment', async (context) => {
  const { id } = await context.order({ ship_before_pay: true });
  context.advance(60_000);
  const booked = await shipmentsOf(context, id);
  expect(booked).toHaveLength(1);
  await pay(context, id);
  context.advance(60_000);
  expect(await shipmentsOf(context, id)).toEqual(booked);
});

fieldRule('order-create.unknown-keys', 'refuses an unknown field', {
  path: CREATE,
  refused: [[{ colour: 'red' }, 'colour']],
});

fieldRule('order-create.field.recipient_address', 'accepts a new address', {
  path: CREATE,
  taken: [[{ recipient_address: recipient }]],
  refused: [[{ recipient_address: 'กรุงเทพ' }, 'recipient_address']],
});

fieldRule('order-create.field.recipient_address_id', 'accepts the store’s address', {
  path: CREATE,
  taken: [
    [
      ({ sandbox }) => ({
        recipient_address: null,
        recipient_address_id: present(sandbox.addresses[1]).id,
      }),
    ],
  ],
  refused: [[{ recipient_address: null, recipient_address_id: '5' }, 'no such address for this store']],
});

text('external_order_id', 'accepts up to 128 characters', 128);

flag('is_cod');

fieldRule(
  ['order-create.field.cod_fee', 'order-create.field.is_cod'],
  'is required with cash on delivery and refused without',
  {
    path: CREATE,
    taken: [[cod]],
    refused: [
      [{ ...cod, cod_fee: undefined }, 'cod_fee'],
      [{ ...cod, cod_fee: 'x' }, 'cod_fee'],
      [{ ...cod, cod_fee: -1 }, 'cod_fee'],
      [{ cod_fee: 15 }, 'cod_fee'],
      [{ is_cod: false, cod_fee: 15 }, 'cod_fee'],
    ],
  },
);

fieldRule('order-create.field.cod_amount', 'is required with cash on delivery and refused without', {
  path: CREATE,
  taken: [[cod]],
  refused: [
    [{ ...cod, cod_amount: undefined }, 'cod_amount'],
    [{ ...cod, cod_amount: -1 }, 'cod_amount'],
    [{ cod_amount: 265 }, 'cod_amount'],
    [{ is_cod: false, cod_amount: 265 }, 'cod_amount'],
  ],
});

fieldRule('order-create.field.sender_address_id', 'accepts only the store’s address', {
  path: CREATE,
  taken: [[({ sandbox }) => ({ sender_address_id: present(sandbox.addresses[2]).id })]],
  refused: [[{ sender_address_id: '5' }, 'sender_address_id: no such address for this store']],
});

fee('discount');

fee('shipping_fee');

flag('ship_before_pay');

text('shipping_label_note', 'accepts up to 1000 characters', 1_000);

fieldRule(
  ['order-create.rule.3', 'order-create.field.recipient_address'],
  'refuses both addresses and none',
  {
    path: CREATE,
    refused: [
      [({ sandbox }) => ({ recipient_address_id: present(sandbox.addresses[0]).id }), 'recipient_address'],
      [{ recipient_address: undefined }, 'recipient_address'],
      [{ recipient_address: null }, 'recipient_address'],
    ],
  },
);

fieldRule('order-detail.exactly-one', 'refuses both and neither', {
  path: DETAIL,
  refused: [
    [{ order_id: '5', external_order_id: 'A-1' }, 'order_id'],
    [{}, 'order_id'],
    [{ order_id: null }, 'order_id'],
  ],
});

rule('order-detail.answer', 'shows the current order', async (context) => {
  const { raw } = context;
  const made = await raw.post(CREATE, context.body());
  const { id } = made.body['order'] as Json;
  const read = async () => {
    const answer = await raw.post(DETAIL, { order_id: id });
    expect(Object.keys(answer.body).sort()).toEqual(['order', 'request_id']);
    expect(answer.body['request_id']).toBe(answer.headers.get('x-request-id'));
    return answer.body['order'];
  };
  expect(await read()).toEqual(made.body['order']);
  await pay(context, id);
  context.advance(60_000);
  expect(await read()).toMatchObject({
    id,
    shipments: [{ tracking_number: expect.stringMatching(/./) }],
  });
});

rule('order-detail.not-found', 'answers the 404 of every miss', async ({ raw }) => {
  for (const miss of [{ order_id: '5' }, { external_order_id: 'nothing' }]) {
    expect(errorOf(await raw.post(DETAIL, miss))).toEqual([404, 'not_found']);
  }
});
