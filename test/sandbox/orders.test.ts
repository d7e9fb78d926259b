import { describe, expect, test } from 'vitest';
import { addressInputSchema, addressSchema, orderResponseSchema } from '../../src/service/order-schemas.ts';
import type { Json, Reply } from './harness.ts';
import { lamp, post, recipient, shopFor } from './shop.ts';
import type { Shop } from './shop.ts';

const SECONDS = 1_790_000_000;
const long = (length: number): string => 'x'.repeat(length);
const line = (fields: (shop: Shop) => Json) => (shop: Shop) => ({
  products: [{ product_variant_id: shop.variant.id, qty: 1, ...fields(shop) }],
});
const sku = (text: string) => ({ products: [{ sku: text, qty: 1 }] });
const to = (fields: Json) => ({ recipient_address: { ...recipient, ...fields } });
const refusal = ({ status, body }: Reply) => [status, body['error'], body['error_description']];

type Fields = Json | ((shop: Shop) => Json | Promise<Json>);
const fieldsOf = async (fields: Fields, shop: Shop) => (typeof fields === 'function' ? fields(shop) : fields);

describe('POST /v1/order/create refuses with 400, and nothing has changed', () => {
  const rows: [rule: string, fields: Fields, description: string][] = [
    [
      'Conventions 1: a variant id as a number',
      line(() => ({ product_variant_id: 12 })),
      'products[0].product_variant_id:',
    ],
    [
      'Conventions 1: an address id as a number',
      { recipient_address: null, recipient_address_id: 5 },
      'recipient_address_id:',
    ],
    ['Conventions 1: a sender id as a number', { sender_address_id: 5 }, 'sender_address_id:'],
    ['Conventions 2: order_time in seconds', { order_time: SECONDS }, 'order_time:'],
    ['Conventions 2: expiration_time in seconds', { expiration_time: SECONDS }, 'expiration_time:'],
    ['Conventions 2: ship_deadline_time in seconds', { ship_deadline_time: SECONDS }, 'ship_deadline_time:'],
    ['Conventions 2: a time as text', { order_time: '1790000000000' }, 'order_time:'],
    ['Conventions 3: money that is no number', { discount: '12 baht' }, 'discount:'],
    ['Conventions 4: a required field that is null', { shipping_type: null }, 'shipping_type:'],
    ['Conventions 4: a required field that is null, inside', line(() => ({ qty: null })), 'products[0].qty:'],
    ['Conventions 4: a list may hold no null', { products: [null] }, 'products[0]:'],
    ['Conventions 5: an unknown field', { colour: 'red' }, 'colour: unknown field'],
    [
      'Conventions 5: an unknown field of a line',
      line(() => ({ colour: 'red' })),
      'products[0].colour: unknown field',
    ],
    [
      'Conventions 5: an unknown field of an address',
      to({ zip: 10500 }),
      'recipient_address.zip: unknown field',
    ],
    ['Conventions 5: an unknown field, though null', { colour: null }, 'colour: unknown field'],
    [
      'Conventions 5: an unknown field inside, though null',
      to({ zip: null }),
      'recipient_address.zip: unknown field',
    ],
    ['Conventions 7: a store id', { store_id: '1' }, 'store_id: unknown field'],
    ['Address: no name', { recipient_address: { telephone: '1' } }, 'recipient_address.name:'],
    ['Address: postal_code as text', to({ postal_code: '10500' }), 'recipient_address.postal_code:'],
    ['Address: postal_code of four digits', to({ postal_code: 9_999 }), 'recipient_address.postal_code:'],
    ['Address: postal_code of six digits', to({ postal_code: 100_000 }), 'recipient_address.postal_code:'],
    ['Address: email without a domain', to({ email: 'somchai' }), 'recipient_address.email:'],
    ['Address: a branch_type not documented', to({ branch_type: 'x' }), 'recipient_address.branch_type:'],
    [
      'Address: legal_entity_type as text',
      to({ legal_entity_type: '1' }),
      'recipient_address.legal_entity_type:',
    ],
    [
      'CreateOrderProduct: variant id and SKU',
      line(() => ({ sku: 'LAMP-1' })),
      'products[0].product_variant_id:',
    ],
    ['CreateOrderProduct: neither', { products: [{ qty: 1 }] }, 'products[0].product_variant_id:'],
    [
      'CreateOrderProduct: no qty',
      (shop) => ({ products: [{ product_variant_id: shop.variant.id }] }),
      'products[0].qty:',
    ],
    ['CreateOrderProduct: qty 0', line(() => ({ qty: 0 })), 'products[0].qty:'],
    ['CreateOrderProduct: qty 1.5', line(() => ({ qty: 1.5 })), 'products[0].qty:'],
    ['CreateOrderProduct: qty as text', line(() => ({ qty: '1' })), 'products[0].qty:'],
    ['CreateOrderProduct: a negative price', line(() => ({ price: '-0.01' })), 'products[0].price:'],
    ['CreateOrderProduct: a SKU in another case', sku('lamp-1'), 'products[0].sku:'],
    ['CreateOrderProduct: a SKU with a space more', sku('LAMP-1 '), 'products[0].sku:'],
    [
      'CreateOrderProduct: the SKU of a deleted product',
      ({ sandbox }) => {
        const gone = lamp(sandbox, { sku: 'GONE-1' });
        sandbox.operations.deleteProduct(gone.product.id);
        return sku('GONE-1');
      },
      'products[0].sku: no such SKU for this store',
    ],
    [
      'CreateOrderProduct: a deleted variant',
      ({ sandbox }) => {
        const gone = lamp(sandbox);
        sandbox.operations.deleteProduct(gone.product.id);
        return { products: [{ product_variant_id: gone.id, qty: 1 }] };
      },
      'products[0].product_variant_id: no such variant for this store',
    ],
    ['Shipping type: not supported', { shipping_type: 'dhl' }, 'shipping_type:'],
    ['Shipping type: none', { shipping_type: undefined }, 'shipping_type:'],
    ['create: no products', { products: undefined }, 'products:'],
    ['create: empty products', { products: [] }, 'products:'],
    ['create: external_order_id over 128 characters', { external_order_id: long(129) }, 'external_order_id:'],
    ['create: external_order_id as a number', { external_order_id: 7 }, 'external_order_id:'],
    [
      'create: shipping_label_note over 1000 characters',
      { shipping_label_note: long(1_001) },
      'shipping_label_note:',
    ],
    ['create: private_note over 1000 characters', { private_note: long(1_001) }, 'private_note:'],
    ['create: a negative discount', { discount: -1 }, 'discount:'],
    ['create: a negative shipping_fee', { shipping_fee: '-1' }, 'shipping_fee:'],
    ['create: a negative other_fee', { other_fee: -0.5 }, 'other_fee:'],
    ['create: cash on delivery without cod_fee', { is_cod: true, cod_amount: 1 }, 'cod_fee:'],
    ['create: cash on delivery without cod_amount', { is_cod: true, cod_fee: 1 }, 'cod_amount:'],
    ['create: cod_fee without cash on delivery', { cod_fee: 1 }, 'cod_fee:'],
    ['create: cod_amount with is_cod false', { is_cod: false, cod_amount: 1 }, 'cod_amount:'],
    ['create: a negative cod_amount', { is_cod: true, cod_fee: 1, cod_amount: -1 }, 'cod_amount:'],
    ['create: is_cod as text', { is_cod: 'true' }, 'is_cod:'],
    ['create rule 3: both recipients', { recipient_address_id: '5' }, 'recipient_address:'],
    ['create rule 3: no recipient', { recipient_address: undefined }, 'recipient_address:'],
    [
      'Errors 1: a recipient address that does not exist',
      { recipient_address: null, recipient_address_id: '5' },
      'recipient_address_id: no such address for this store',
    ],
    [
      'Errors 1: a sender address that does not exist',
      { sender_address_id: '5' },
      'sender_address_id: no such address for this store',
    ],
    [
      'Errors 1: a customer’s address is none of the store’s own',
      ({ sandbox }) => ({
        sender_address_id: sandbox.addresses.addCustomers(addressInputSchema.parse(recipient)).id,
      }),
      'sender_address_id: no such address for this store',
    ],
    ['Errors 1: a SKU that does not exist', sku('NOTHING'), 'products[0].sku: no such SKU for this store'],
    [
      'Errors 1: a variant that does not exist',
      line(() => ({ product_variant_id: '5' })),
      'products[0].product_variant_id: no such variant for this store',
    ],
    [
      'Errors: the second line is named',
      (shop) => ({
        products: [
          { sku: 'LAMP-1', qty: 1 },
          { product_variant_id: shop.variant.id, qty: -1 },
        ],
      }),
      'products[1].qty:',
    ],
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

  test('Errors 3: a SKU that several variants share, naming it and them', async () => {
    const shop = await shopFor();
    const other = lamp(shop.sandbox, { sku: 'LAMP-1' });
    const answer = await shop.create(sku('LAMP-1'));
    expect(refusal(answer)).toEqual([400, 'invalid_request', expect.stringContaining('products[0].sku:')]);
    for (const named of ['LAMP-1', shop.variant.id, other.id]) {
      expect(answer.body['error_description']).toContain(named);
    }
    shop.sandbox.operations.deleteProduct(other.product.id);
    expect((await shop.create(sku('LAMP-1'))).status).toBe(200);
  });
});

describe('POST /v1/order/create takes', () => {
  const rows: [rule: string, fields: Fields, shown: Fields][] = [
    ['Conventions 3: money as a number', { discount: 10.5 }, { discount: '10.50', total: '239.50' }],
    [
      'Conventions 3: money as a numeric string',
      { shipping_fee: '40' },
      { shipping_fee: '40.00', total: '290.00' },
    ],
    ['Conventions 3: sums are exact', { other_fee: 0.1, shipping_fee: '0.2' }, { total: '250.30' }],
    [
      'Conventions 4: null for absent, at any depth',
      (shop) => ({
        ...to({ email: null }),
        recipient_address_id: null,
        discount: null,
        order_time: null,
        external_order_id: null,
        is_cod: null,
        cod_fee: null,
        products: [{ product_variant_id: shop.variant.id, sku: null, qty: 1, price: null }],
      }),
      { total: '250.00', is_cod: false },
    ],
    [
      'CreateOrderProduct: a SKU',
      sku('LAMP-1'),
      (shop) => ({ products: [{ product_variant_id: shop.variant.id, sku: 'LAMP-1' }] }),
    ],
    [
      'CreateOrderProduct: the price defaults to the store’s',
      line(() => ({ qty: 2 })),
      { products: [{ price: '250.00', amount: '500.00' }], subtotal: '500.00' },
    ],
    [
      'CreateOrderProduct: another price',
      line(() => ({ qty: 3, price: '9.99' })),
      { products: [{ price: '9.99', qty: 3 }], total: '29.97' },
    ],
    ['CreateOrderProduct: a price of nothing', line(() => ({ price: 0 })), { total: '0.00' }],
    ...['ecopost', 'ems', 'flash', 'jt', 'kex', 'spx_dropoff', 'spx_pickup'].map(
      (type): [string, Json, Json] => [
        `Shipping type: ${type}`,
        { shipping_type: type },
        { shipping_type: type },
      ],
    ),
    [
      'create: external_order_id of 128 characters',
      { external_order_id: long(128) },
      { external_order_id: long(128) },
    ],
    [
      'create: notes of 1000 characters',
      { shipping_label_note: long(1_000), private_note: long(1_000) },
      { private_note: long(1_000) },
    ],
    ['create: a note’s characters are counted, not their units', { private_note: '📦'.repeat(1_000) }, {}],
    [
      'create: cash on delivery',
      { is_cod: true, cod_fee: 15, cod_amount: '265' },
      { is_cod: true, cod_fee: '15.00', cod_amount: '265.00' },
    ],
    [
      'create: defaults',
      {},
      {
        is_cod: false,
        ship_before_pay: false,
        auto_request_xshipping: true,
        discount: '0.00',
        shipping_fee: '0.00',
        other_fee: '0.00',
        sender_name: 'ร้านจำลอง',
      },
    ],
    ['create: sender_name', { sender_name: 'ร้านอื่น' }, { sender_name: 'ร้านอื่น' }],
    ['create: channel', { channel: 'live' }, { channel: 'live' }],
    [
      'create: times',
      { order_time: 1_700_000_000_000, ship_deadline_time: 1_900_000_000_000 },
      { order_time: 1_700_000_000_000, ship_deadline_time: 1_900_000_000_000 },
    ],
    [
      'create: sender_address_id',
      ({ sandbox }) => ({ sender_address_id: sandbox.addresses.own()[2]!.id }),
      ({ sandbox }) => ({ sender_address: { id: sandbox.addresses.own()[2]!.id } }),
    ],
    [
      'create: one of the store’s own addresses as the recipient',
      ({ sandbox }) => ({ recipient_address: null, recipient_address_id: sandbox.addresses.own()[1]!.id }),
      ({ sandbox }) => ({ recipient_address: { id: sandbox.addresses.own()[1]!.id } }),
    ],
  ];
  test.each(rows)('%s', async (_, fields, shown) => {
    const shop = await shopFor();
    const order = await shop.order(await fieldsOf(fields, shop));
    expect(order).toMatchObject(await fieldsOf(shown, shop));
    expect(await shop.read(order['id'])).toEqual(order);
  });

  test('Order: the record has the documented shape, no nulls and no shipments, and its address can be used again', async () => {
    const shop = await shopFor();
    const answer = await shop.create({ external_order_id: 'A-1' });
    expect(JSON.stringify(answer.body)).not.toContain('null');
    const { order } = orderResponseSchema.parse(answer.body);
    expect(order.external_order_id).toBe('A-1');
    expect(order.shipments).toBeUndefined();
    const stored = (answer.body['order'] as Json)['recipient_address'] as Json;
    expect(addressSchema.parse(stored)).toMatchObject(recipient);

    const again = await shop.order({ recipient_address: undefined, recipient_address_id: stored['id'] });
    expect(again['recipient_address']).toEqual(stored);
  });

  test('create: order_time defaults to the time of creation, on the service’s clock', async () => {
    const shop = await shopFor({ now: () => 1_800_000_000_000, clockOffsetMs: 5_000 });
    const order = await shop.order();
    expect(order).toMatchObject({ order_time: 1_800_000_005_000, create_time: 1_800_000_005_000 });
  });

  test('create: the sender is the first of the primary addresses, else the oldest', async () => {
    const shop = await shopFor();
    const [primary, oldest, newest] = shop.sandbox.addresses.own().map(({ id }) => id);
    const sender = async () => ((await shop.order())['sender_address'] as Json)['id'];
    expect(await sender()).toBe(primary);
    await shop.steer('/operations', { operation: 'set_primary', address_id: primary, is_primary: false });
    expect(await sender()).toBe(oldest);
    await shop.steer('/operations', { operation: 'set_primary', address_id: newest, is_primary: true });
    expect(await sender()).toBe(newest);
    await shop.steer('/operations', { operation: 'set_primary', address_id: primary, is_primary: true });
    // Both are primary now: the older of them.
    expect(await sender()).toBe(primary);
  });

  test('What the service does: stock is reserved and told, with the order’s id', async () => {
    const shop = await shopFor();
    const order = await shop.order({
      products: [
        { sku: 'LAMP-1', qty: 3 },
        { sku: 'LAMP-1', qty: 1 },
      ],
    });
    expect(shop.variant.cells[0]).toMatchObject({ onHand: 10, reserved: 4 });
    await shop.sandbox.network.idle();
    expect(shop.receiver.items()).toMatchObject([
      { id: shop.variant.id, old: 10, new: 6, reason: 'order_reserved', order_id: order['id'] },
    ]);
  });

  test('ProductVariantDetail: allow_negative_stock sells what is not there', async () => {
    const shop = await shopFor();
    shop.variant.allowNegativeStock = true;
    expect((await shop.create(line(() => ({ qty: 12 }))(shop))).status).toBe(200);
    expect(shop.sellable()).toBe(-2);
  });

  test('ProductVariantDetail: a set takes its components’ stock, and too many name the line of the set', async () => {
    const shop = await shopFor();
    const set = shop.sandbox.operations.createProduct({
      kind: 'bundle',
      components: [{ variantId: shop.variant.id, qty: 4 }],
    }).product.variants[0]!;
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
  test('create rule 1: the same external_order_id returns the same order, whatever else the request says', async () => {
    const shop = await shopFor();
    const first = await shop.order({ external_order_id: 'A-1' });
    expect(await shop.order({ external_order_id: 'A-1', discount: 5, ...sku('NOT THERE') })).toEqual(first);
    expect((await shop.order({ external_order_id: 'a-1' }))['id']).not.toBe(first['id']);
    expect(shop.sellable()).toBe(8);
  });

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

  test('create rule 1: unique within the channel: the app’s own order is another', async () => {
    const shop = await shopFor();
    const keyed = await shop.steer('/operations', {
      operation: 'place_order',
      order: shop.body({ external_order_id: 'A-1' }),
    });
    expect((await shop.order({ external_order_id: 'A-1' }))['id']).not.toBe((keyed['order'] as Json)['id']);
  });

  test('create rule 2: without one, a repeated request creates another order', async () => {
    const shop = await shopFor();
    expect((await shop.order())['id']).not.toBe((await shop.order())['id']);
    expect(shop.sellable()).toBe(8);
  });

  test('Errors 4: after a lost answer, the retry finds the order that was created', async () => {
    const shop = await shopFor();
    await shop.steer('/faults', { fail: { lost_answer: 1 } });
    await expect(shop.create({ external_order_id: 'A-1' })).rejects.toThrow();
    expect(shop.sellable()).toBe(9);
    await shop.steer('/faults', { fail: { lost_answer: 0 } });
    await shop.order({ external_order_id: 'A-1' });
    expect(shop.sellable()).toBe(9);
  });

  test('Errors 4: a 500 has created nothing, and the retry creates', async () => {
    const shop = await shopFor();
    await shop.steer('/faults', { fail: { server_error: 1 } });
    expect(await shop.create({ external_order_id: 'A-1' })).toMatchObject({
      status: 500,
      body: { error: 'server_error' },
    });
    expect(shop.sellable()).toBe(10);
    await shop.steer('/faults', { fail: { server_error: 0 } });
    await shop.order({ external_order_id: 'A-1' });
    expect(shop.sellable()).toBe(9);
  });
});

describe('other answers', () => {
  test('Authentication 4: no token, no order', async () => {
    const shop = await shopFor();
    shop.sandbox.oauth.expireAllTokens();
    for (const path of ['/v1/order/create', '/v1/order/detail', '/v1/store/address/list']) {
      expect(await shop.call(path, shop.body())).toMatchObject({
        status: 401,
        body: { error: 'invalid_token' },
      });
    }
    expect(shop.sellable()).toBe(10);
  });

  test('create rule 4: a body over 1 MB answers 413', async () => {
    const shop = await shopFor();
    const answer = await shop.create({ private_note: long(1_048_576) });
    expect([answer.status, answer.body['error']]).toEqual([413, 'invalid_request']);
  });

  test('Errors: access_denied on orders and addresses, while the catalogue is read', async () => {
    const shop = await shopFor();
    const order = await shop.order();
    await shop.steer('/faults', { access_denied: true });
    for (const [path, body] of [
      ['/v1/order/create', shop.body()],
      ['/v1/order/detail', { order_id: order['id'] }],
      ['/v1/store/address/list', {}],
    ] as const) {
      expect(await shop.call(path, body)).toMatchObject({ status: 403, body: { error: 'access_denied' } });
    }
    expect((await shop.call('/v1/product/list')).status).toBe(200);
    expect(shop.sellable()).toBe(9);
    await shop.steer('/faults', { access_denied: false });
    expect((await shop.create()).status).toBe(200);
  });

  test('Errors: quota_exceeded on a new order, not on one that exists', async () => {
    const shop = await shopFor();
    const order = await shop.order({ external_order_id: 'A-1' });
    await shop.steer('/faults', { quota_exceeded: true });
    expect(await shop.create()).toMatchObject({ status: 403, body: { error: 'quota_exceeded' } });
    expect(shop.sellable()).toBe(9);
    expect((await shop.order({ external_order_id: 'A-1' }))['id']).toBe(order['id']);
    expect((await shop.detail(order['id'])).status).toBe(200);
  });
});

describe('POST /v1/order/detail', () => {
  test('by the id, or by the channel’s external id', async () => {
    const shop = await shopFor();
    const order = await shop.order({ external_order_id: 'A-1' });
    expect(await shop.read(order['id'])).toEqual(order);
    const byExternal = await shop.call('/v1/order/detail', { external_order_id: 'A-1', order_id: null });
    expect(byExternal.body['order']).toEqual(order);
  });

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

  test('Errors 2: every miss is the same 404', async () => {
    const shop = await shopFor();
    const [deleted] = [await shop.order({ external_order_id: 'D-1' })];
    await shop.steer('/operations', { operation: 'delete_order', order_id: deleted['id'] });
    await shop.steer('/operations', {
      operation: 'place_order',
      order: shop.body({ external_order_id: 'APP-1' }),
    });
    const misses = [
      { order_id: '5' },
      { order_id: deleted['id'] },
      { external_order_id: 'D-1' },
      { external_order_id: 'nothing' },
      { external_order_id: 'APP-1' },
    ];
    for (const body of misses) {
      expect(await shop.call('/v1/order/detail', body)).toMatchObject({
        status: 404,
        body: { error: 'not_found', error_description: 'no such order' },
      });
    }
    // Deleting gave the stock back.
    expect(shop.sellable()).toBe(9);
  });

  test.each<[string, Json, string]>([
    ['both', { order_id: '5', external_order_id: 'A' }, 'order_id:'],
    ['neither', {}, 'order_id:'],
    ['neither, with null', { order_id: null }, 'order_id:'],
    ['Conventions 1: an id as a number', { order_id: 5 }, 'order_id:'],
    ['an id that is not digits', { order_id: '5a' }, 'order_id:'],
    ['Conventions 5: an unknown field', { order_id: '5', store_id: '1' }, 'store_id: unknown field'],
  ])('refuses %s', async (_, body, description) => {
    const shop = await shopFor();
    const answer = await shop.call('/v1/order/detail', body);
    expect(refusal(answer)).toEqual([400, 'invalid_request', expect.stringContaining(description)]);
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
  expect(refusal(await post(sandbox, '/operations', body))).toEqual([
    400,
    'invalid_request',
    expect.stringContaining(description),
  ]);
});
