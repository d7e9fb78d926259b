import { describe, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { steer } from './harness.ts';
import type { Json, Reply } from './harness.ts';
import { shopFor } from './shop.ts';
import type { Shop } from './shop.ts';

const line = (fields: (shop: Shop) => Json) => (shop: Shop) => ({
  products: [{ product_variant_id: shop.variant.id, qty: 1, ...fields(shop) }],
});
const refusal = ({ status, body }: Reply) => [status, body['error'], body['error_description']];

type Fields = Json | ((shop: Shop) => Json | Promise<Json>);
const fieldsOf = async (fields: Fields, shop: Shop) => (typeof fields === 'function' ? fields(shop) : fields);

describe('POST /v1/order/create refuses with 400, and nothing has changed', () => {
  const rows: [rule: string, fields: Fields, description: string][] = [
    ['silent in the document: more than there is', line(() => ({ qty: 11 })), 'products[0].qty:'],
    [
      'silent in the document: two lines that are too much together',
      (shop) => ({
        products: [
          { sku: 'LAMP-1', qty: 6 },
          { product_variant_id: shop.variant.id, qty: 5 },
        ],
      }),
      'products[1].qty:',
    ],
  ];
  test.each(rows)('%s', async (_, fields, description) => {
    const shop = await shopFor();
    const given = await fieldsOf(fields, shop);
    const answer = await shop.create(given);
    expect(refusal(answer)).toEqual([400, 'invalid_request', expect.stringContaining(description)]);
    expect(answer.headers.get('x-request-id')).toBeTruthy();
    expect(shop.sellable()).toBe(10);
    await shop.sandbox.network.idle();
    expect(shop.receiver.items().map((item) => item.reason)).not.toContain('order_reserved');
  });
});

describe('POST /v1/order/create takes', () => {
  test('create: order_time defaults to the time of creation, on the service’s clock', async () => {
    const shop = await shopFor({ now: () => 1_800_000_000_000, clockOffsetMs: 5_000 });
    const order = await shop.order();
    expect(order).toMatchObject({ order_time: 1_800_000_005_000, create_time: 1_800_000_005_000 });
  });

  test('What the service does: stock is reserved and told, with the order’s id', async () => {
    const shop = await shopFor();
    const order = await shop.order({
      products: [
        { sku: 'LAMP-1', qty: 3 },
        { sku: 'LAMP-1', qty: 1 },
      ],
    });
    expect(shop.variant.levels[0]).toMatchObject({ onHand: 10, reserved: 4 });
    await shop.sandbox.network.idle();
    expect(shop.receiver.items()).toMatchObject([
      { id: shop.variant.id, old: 10, new: 6, reason: 'order_reserved', order_id: order['id'] },
    ]);
  });

  test('ProductVariantDetail: a set takes its components’ stock, and too many name the line of the set', async () => {
    const shop = await shopFor();
    const set = present(
      shop.sandbox.operations.createProduct({
        kind: 'bundle',
        components: [{ variantId: shop.variant.id, qty: 4 }],
      }).product.variants[0],
    );
    const of = (qty: number) => ({ products: [{ product_variant_id: set.id, qty }] });
    expect(refusal(await shop.create(of(3)))).toEqual([
      400,
      'invalid_request',
      expect.stringContaining('products[0].qty:'),
    ]);
    expect((await shop.order(of(2)))['products']).toMatchObject([{ product_variant_id: set.id, qty: 2 }]);
    expect(shop.sellable()).toBe(2);
  });
});

test('random traffic leaves alone what was placed', async () => {
  const shop = await shopFor();
  const placed = await shop.order();
  const counter = shop.sandbox.operations.reserve([{ variantId: shop.variant.id, qty: 1 }]);
  for (let step = 0; step < 300; step += 1) shop.sandbox.traffic.step();
  expect(await shop.read(placed['id'])).toEqual(placed);
  expect(await shop.read(counter.orderId)).not.toMatchObject({ status: 'open' });
});

describe('idempotency', () => {
  test('create rule 1: also of two requests at once', async () => {
    const shop = await shopFor();
    shop.sandbox.reads.latencyMs = { min: 1, max: 20 };
    const orders = await Promise.all([1, 2, 3, 4].map(() => shop.order({ external_order_id: 'A-1' })));
    expect(new Set(orders.map(({ id }) => id)).size).toBe(1);
    expect(shop.sellable()).toBe(9);
    await shop.sandbox.network.idle();
    expect(shop.receiver.items()).toHaveLength(1);
  });

  test('create rule 1: also of one that is cancelled; only a deleted one makes room', async () => {
    const shop = await shopFor();
    const first = await shop.order({ external_order_id: 'A-1' });
    await shop.steer('/operations', { operation: 'cancel', order_id: first['id'] });
    expect(await shop.order({ external_order_id: 'A-1' })).toMatchObject({
      id: first['id'],
      status: 'canceled',
    });
    await shop.steer('/operations', { operation: 'delete_order', order_id: first['id'] });
    expect((await shop.order({ external_order_id: 'A-1' }))['id']).not.toBe(first['id']);
  });
});

describe('POST /v1/order/detail', () => {
  test('an order keyed in the app is read by its id, whatever it was made by', async () => {
    const shop = await shopFor();
    const keyed = await shop.steer('/operations', { operation: 'place_order', order: shop.body() });
    expect(await shop.read((keyed['order'] as Json)['id'])).toEqual(keyed['order']);
    const counter = await shop.steer('/operations', {
      operation: 'reserve',
      lines: [{ variant_id: shop.variant.id, qty: 2 }],
    });
    expect(await shop.read(counter['order_id'])).toMatchObject({
      status: 'open',
      products: [{ product_variant_id: shop.variant.id, qty: 2 }],
    });
    await shop.steer('/operations', { operation: 'ship', order_id: counter['order_id'] });
    expect(await shop.read(counter['order_id'])).toMatchObject({ status: 'shipped' });
  });

  test('shows the order as it stands now', async () => {
    const shop = await shopFor();
    const { id } = await shop.order();
    expect(await shop.read(id)).toMatchObject({ status: 'open', is_paid: false });
    await shop.steer('/operations', { operation: 'pay', order_id: id });
    expect(await shop.read(id)).toMatchObject({ status: 'open', is_paid: true });
    await shop.steer('/operations', { operation: 'cancel', order_id: id });
    expect(await shop.read(id)).toMatchObject({ status: 'canceled', cancel_reason: 'order_canceled' });
    expect(shop.sellable()).toBe(10);
  });
});

test.each<[string, Json, string]>([
  ['place_order: a wrong order', { operation: 'place_order', order: { qty: 1 } }, 'order.shipping_type'],
  ['pay: an unknown order', { operation: 'pay', order_id: '5' }, 'no order 5'],
  ['delete_order: an unknown order', { operation: 'delete_order', order_id: '5' }, 'no order 5'],
  ['pay: a field that is not known', { operation: 'pay', order_id: '5', amount: 3 }, 'amount: unknown field'],
  [
    'set_primary: an unknown address',
    { operation: 'set_primary', address_id: '5', is_primary: true },
    'no own address 5',
  ],
])('POST /sandbox/operations refuses %s', async (_, body, description) => {
  const { sandbox } = await shopFor();
  expect(refusal(await steer(sandbox, '/operations', body))).toEqual([
    400,
    'invalid_request',
    expect.stringContaining(description),
  ]);
});
