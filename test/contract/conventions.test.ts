import { STORE_ID } from '../../src/sandbox/world/render.ts';
import { recipient, type Json } from '../sandbox/harness.ts';
import { rule, type Context } from './contract.ts';
import { fieldRule } from './fields.ts';
import { expectRefused } from './raw.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';
const ADDRESSES = '/v1/store/address/list';
const LIST = '/v1/product/list';
const PRODUCT = '/v1/product/detail';

const SECONDS = 1_790_000_000;
const MS = 1_790_000_000_000;
const TIMES = ['order_time', 'expiration_time', 'ship_deadline_time'] as const;

const line =
  (fields: Json) =>
  ({ lamp }: Context) => ({ products: [{ product_variant_id: lamp.id, qty: 1, ...fields }] });

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
