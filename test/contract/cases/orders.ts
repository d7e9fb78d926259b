import { expect } from 'vitest';
import { shippingTypes } from '../../../src/client.ts';
import { sellable } from '../../../src/sandbox/world/model.ts';
import type { Variant } from '../../../src/sandbox/world/model.ts';
import { present } from '../../shared/present.ts';
import { failureOf } from '../../store-api/connection.ts';
import { lamp as newLamp, recipient } from '../../sandbox/shop.ts';
import type { Json } from '../../sandbox/harness.ts';
import { clientRule, rule } from '../contract.ts';
import type { Context, ContractCase } from '../contract.ts';
import { fieldRule } from '../fields.ts';
import { accessToken, errorOf, expectRefused } from '../raw.ts';
import type { RuleId } from '../rules.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';
const HOUR_MS = 3_600_000;
const MS = 1_790_000_000_000;

const long = (length: number): string => 'ก'.repeat(length);
const sku = (text: unknown): Json => ({ products: [{ sku: text, qty: 1 }] });
const line =
  (fields: Json) =>
  ({ lamp }: Context): Json => ({
    products: [{ product_variant_id: lamp.id, qty: 1, ...fields }],
  });
const shown = (fields: Json): Json => ({ order: fields });
const request = {
  shipping_type: 'flash',
  products: [{ sku: 'LAMP-1', qty: 1 }],
  recipient_address: recipient,
} as const;
const pay = ({ steer }: Context, id: unknown) => steer('/operations', { operation: 'pay', order_id: id });
const shipmentsOf = async ({ read }: Context, id: unknown) => (await read(id))['shipments'];
/** A channel of the same store beside the first one. */
const second = async ({ steer, raw }: Context): Promise<string> => {
  const { client_secret: secret } = await steer('/apps', { client_id: 'second' });
  return accessToken(raw, { client_id: 'second', client_secret: secret as string });
};
const deletedProduct = ({ sandbox }: Context): Variant => {
  const gone = newLamp(sandbox, { sku: 'GONE-1' });
  sandbox.operations.deleteProduct(gone.product.id);
  return gone;
};

const text = (field: string, name: string, longest?: number): ContractCase[] =>
  fieldRule(`order-create.field.${field}` as RuleId, name, {
    path: CREATE,
    taken: [
      [{ [field]: 'ข้อความ' }, shown({ [field]: 'ข้อความ' })],
      ...(longest === undefined
        ? []
        : ([
            [{ [field]: long(longest) }, shown({ [field]: long(longest) })],
            // A character that one reader sees may take two units.
            [{ [field]: '📦'.repeat(longest) }, shown({ [field]: '📦'.repeat(longest) })],
          ] as const)),
    ],
    refused: [
      [{ [field]: 7 }, field],
      ...(longest === undefined ? [] : ([[{ [field]: long(longest + 1) }, field]] as const)),
    ],
  });

const flag = (field: string, byDefault: boolean): ContractCase[] =>
  fieldRule(`order-create.field.${field}` as RuleId, `${byDefault} by default`, {
    path: CREATE,
    taken: [
      [{}, shown({ [field]: byDefault })],
      [{ [field]: byDefault }, shown({ [field]: byDefault })],
      ...(field === 'is_cod' ? [] : ([[{ [field]: !byDefault }, shown({ [field]: !byDefault })]] as const)),
    ],
    refused: ['true', 1].map((value) => [{ [field]: value }, field]),
  });

const fee = (field: string, total: string): ContractCase[] =>
  fieldRule(`order-create.field.${field}` as RuleId, 'not negative', {
    path: CREATE,
    taken: [
      [{}, shown({ [field]: '0.00', total: '250.00' })],
      [{ [field]: 10.5 }, shown({ [field]: '10.50', total })],
      [{ [field]: '10.50' }, shown({ [field]: '10.50', total })],
      [{ [field]: 0 }, shown({ total: '250.00' })],
    ],
    refused: [-1, '-0.01', 'x'].map((amount) => [{ [field]: amount }, field]),
  });

const cod = { is_cod: true, cod_fee: 15, cod_amount: '265' };

export const cases: ContractCase[] = [
  rule('service.stock', 'in the warehouse, and given back by nobody else', async ({ lamp, order, raw }) => {
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
  }),
  clientRule('service.stock', 'as the catalogue then shows', async ({ client, lamp }) => {
    const mine = client();
    await mine.createOrder({ ...request, products: [{ sku: 'LAMP-1', qty: 3 }] });
    expect(await mine.productDetail(lamp.product.id)).toMatchObject({
      product: { variants: [{ available_qty: 7, on_hand: 10, reserved_qty: 3 }] },
    });
  }),
  rule('order.id', 'of digits, another for each order of the store', async (context) => {
    const keyed = await context.steer('/operations', { operation: 'place_order', order: context.body() });
    const orders = [await context.order(), await context.order(), keyed['order'] as Json];
    const ids = orders.map(({ id }) => id);
    for (const id of ids) expect(id).toMatch(/^[0-9]+$/);
    expect(new Set(ids).size).toBe(3);
  }),
  rule(['order.shipments', 'states.created'], 'moments later', async (context) => {
    const created = await context.order({ ship_before_pay: true });
    expect(created).not.toHaveProperty('shipments');
    expect(await context.read(created['id'])).not.toHaveProperty('shipments');
    context.advance(context.sandbox.courier.bookingDelayMs);
    expect(await shipmentsOf(context, created['id'])).toMatchObject([
      { tracking_number: expect.stringMatching(/./) },
    ]);
  }),
  clientRule(['order.shipments', 'states.created'], 'moments later', async ({ client, advance }) => {
    const mine = client();
    const { order } = await mine.createOrder({ ...request, ship_before_pay: true });
    expect(order.shipments).toBeUndefined();
    advance(60_000);
    expect(await mine.orderDetail({ order_id: order.id })).toMatchObject({
      order: { shipments: [{ tracking_number: expect.any(String) }] },
    });
  }),
  clientRule(
    [
      'order.id',
      'order.recipient-id',
      'order.external_order_id',
      'order-create.answer',
      'order-detail.answer',
    ],
    'as sent, and read again',
    async ({ client, read }) => {
      const mine = client();
      const { order, rawOrder, requestId } = await mine.createOrder({ ...request, external_order_id: 'A-1' });
      expect(requestId).toBeTruthy();
      expect(order).toMatchObject({
        ...{ id: expect.stringMatching(/^[0-9]+$/), external_order_id: 'A-1' },
        recipient_address: { ...recipient, id: expect.stringMatching(/^[0-9]+$/) },
      });
      expect(rawOrder).toEqual(await read(order.id));
      expect(await mine.orderDetail({ order_id: order.id })).toMatchObject({ order, rawOrder });
    },
  ),
  rule('order.recipient-id', 'of digits', async ({ order }) => {
    expect((await order())['recipient_address']).toMatchObject({ id: expect.stringMatching(/^[0-9]+$/) });
  }),
  rule('order.external_order_id', 'read again with it, absent without', async ({ order, read }) => {
    const made = await order({ external_order_id: 'A-1' });
    expect(made['external_order_id']).toBe('A-1');
    expect(await read(made['id'])).toEqual(made);
    expect(await order()).not.toHaveProperty('external_order_id');
  }),

  ...fieldRule('order-line.field.product_variant_id', 'a live variant of the store', {
    path: CREATE,
    taken: [[line({}), ({ lamp }) => shown({ products: [{ product_variant_id: lamp.id, qty: 1 }] })]],
    refused: [
      [line({ product_variant_id: '5' }), 'products[0].product_variant_id'],
      [line({ product_variant_id: 'x' }), 'products[0].product_variant_id'],
      [
        (context) => line({ product_variant_id: deletedProduct(context).id })(context),
        'products[0].product_variant_id',
      ],
    ],
  }),
  ...fieldRule('order-line.field.sku', 'exact in case, spacing and punctuation; of live products', {
    path: CREATE,
    taken: [
      [sku('LAMP-1'), ({ lamp }) => shown({ products: [{ product_variant_id: lamp.id, sku: 'LAMP-1' }] })],
    ],
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
  }),
  rule(
    'order-line.field.sku',
    'a deleted variant’s SKU, and one used anew',
    async ({ sandbox, raw, body }) => {
      const gone = newLamp(sandbox, { sku: 'GONE-2' });
      sandbox.operations.createVariant(gone.product.id, { name: 'another' });
      sandbox.operations.deleteVariant(gone.id);
      expectRefused(await raw.post(CREATE, body(sku('GONE-2'))), 'products[0].sku');
      const next = newLamp(sandbox, { sku: 'GONE-2' });
      const { body: answer } = await raw.post(CREATE, body(sku('GONE-2')));
      expect(answer['order']).toMatchObject({ products: [{ product_variant_id: next.id }] });
    },
  ),
  ...fieldRule(['order-line.field.qty', 'limits.order-lines'], 'whole, from 1', {
    path: CREATE,
    taken: [
      [line({ qty: 1 }), shown({ products: [{ qty: 1 }] })],
      [line({ qty: 3 }), shown({ products: [{ qty: 3 }] })],
    ],
    refused: [undefined, 0, -1, 1.5, '1'].map((qty) => [line({ qty }), 'products[0].qty']),
  }),
  ...fieldRule('order-line.field.price', 'not negative', {
    path: CREATE,
    taken: [
      [line({ qty: 2 }), shown({ products: [{ price: '250.00' }], total: '500.00' })],
      [line({ qty: 3, price: '9.99' }), shown({ products: [{ price: '9.99' }], total: '29.97' })],
      [line({ price: 12.5 }), shown({ total: '12.50' })],
      [line({ price: 0 }), shown({ total: '0.00' })],
    ],
    refused: [-0.01, '-1', 'x'].map((price) => [line({ price }), 'products[0].price']),
  }),
  ...fieldRule('order-line.exactly-one', 'both, and neither', {
    path: CREATE,
    refused: [
      [line({ sku: 'LAMP-1' }), 'products[0]'],
      [{ products: [{ qty: 1 }] }, 'products[0]'],
    ],
  }),
  rule(
    ['order-line.shared-sku', 'errors.rule.3'],
    'and the SKU itself',
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
  ),
  clientRule(
    ['order-line.shared-sku', 'errors.rule.3'],
    'told in the description',
    async ({ client, sandbox, lamp }) => {
      const other = newLamp(sandbox, { sku: 'LAMP-1' });
      const { status, code, description } = await failureOf(client().createOrder(request));
      expect([status, code]).toEqual([400, 'invalid_request']);
      for (const named of ['LAMP-1', lamp.id, other.id]) expect(description).toContain(named);
    },
  ),
  ...fieldRule('order-line.additional', 'refused', {
    path: CREATE,
    refused: [[line({ colour: 'red' }), 'colour']],
  }),

  ...fieldRule(['shipping-type.values', 'order-create.field.shipping_type'], 'each of the seven', {
    path: CREATE,
    taken: ['ecopost', 'ems', 'flash', 'jt', 'kex', 'spx_dropoff', 'spx_pickup'].map((type) => [
      { shipping_type: type },
      shown({ shipping_type: type }),
    ]),
  }),
  clientRule('shipping-type.values', 'the client’s list', () => {
    expect(shippingTypes).toEqual(['ecopost', 'ems', 'flash', 'jt', 'kex', 'spx_dropoff', 'spx_pickup']);
  }),
  ...fieldRule(['shipping-type.unsupported', 'order-create.field.shipping_type'], 'and none is as bad', {
    path: CREATE,
    refused: ['dhl', 'FLASH', '', 1, undefined].map((type) => [{ shipping_type: type }, 'shipping_type']),
  }),

  rule('states.auto.paid', 'not before', async (context) => {
    const { id } = await context.order({ shipping_type: 'kex' });
    context.advance(HOUR_MS);
    expect(await shipmentsOf(context, id)).toBeUndefined();
    await pay(context, id);
    context.advance(context.sandbox.courier.bookingDelayMs - 1);
    expect(await shipmentsOf(context, id)).toBeUndefined();
    context.advance(1);
    expect(await shipmentsOf(context, id)).toMatchObject([{ shipping_type: 'kex' }]);
  }),
  rule('states.auto.ship_before_pay', 'and not once more when it is paid', async (context) => {
    const { id } = await context.order({ ship_before_pay: true });
    context.advance(60_000);
    const booked = await shipmentsOf(context, id);
    expect(booked).toHaveLength(1);
    await pay(context, id);
    context.advance(60_000);
    expect(await shipmentsOf(context, id)).toEqual(booked);
  }),
  clientRule(
    ['states.auto.paid', 'states.auto.ship_before_pay', 'states.manual'],
    'shipments, or none',
    async (context) => {
      const mine = context.client();
      const shipped = async (fields: { ship_before_pay?: boolean; auto_request_xshipping?: boolean }) => {
        const { order } = await mine.createOrder({ ...request, ...fields });
        context.advance(60_000);
        const before = await mine.orderDetail({ order_id: order.id });
        await pay(context, order.id);
        context.advance(60_000);
        const after = await mine.orderDetail({ order_id: order.id });
        return [before, after].map((read) => read.outcome === 'found' && read.order.shipments?.length);
      };
      expect(await shipped({})).toEqual([undefined, 1]);
      expect(await shipped({ ship_before_pay: true })).toEqual([1, 1]);
      expect(await shipped({ auto_request_xshipping: false })).toEqual([undefined, undefined]);
    },
  ),
  rule('states.auto.courier', 'another is never asked', async (context) => {
    await context.steer('/settings', { couriers: ['ems'] });
    const flash = await context.order({ ship_before_pay: true });
    const ems = await context.order({ ship_before_pay: true, shipping_type: 'ems' });
    context.advance(HOUR_MS);
    expect(await shipmentsOf(context, flash['id'])).toBeUndefined();
    expect(await shipmentsOf(context, ems['id'])).toHaveLength(1);
  }),
  rule('states.manual', 'paid and shipped before pay', async (context) => {
    const { id } = await context.order({ auto_request_xshipping: false, ship_before_pay: true });
    await pay(context, id);
    context.advance(3 * HOUR_MS);
    expect(await shipmentsOf(context, id)).toBeUndefined();
    const own = { operation: 'add_tracking_number', order_id: id, tracking_number: 'MINE-1' };
    await context.steer('/operations', own);
    expect(await shipmentsOf(context, id)).toMatchObject([{ tracking_number: 'MINE-1' }]);
  }),

  ...fieldRule('order-create.unknown-keys', 'refused', {
    path: CREATE,
    refused: [[{ colour: 'red' }, 'colour']],
  }),
  ...fieldRule(['order-create.field.products', 'limits.order-lines'], 'from one line', {
    path: CREATE,
    taken: [[line({}), shown({ products: [{ qty: 1 }] })]],
    refused: [undefined, [], {}, 'LAMP-1'].map((products) => [{ products }, 'products']),
  }),
  ...fieldRule('order-create.field.recipient_address', 'created with the order', {
    path: CREATE,
    taken: [[{ recipient_address: recipient }, shown({ recipient_address: recipient })]],
    refused: [[{ recipient_address: 'กรุงเทพ' }, 'recipient_address']],
  }),
  ...fieldRule('order-create.field.recipient_address_id', 'of an own address too', {
    path: CREATE,
    taken: [
      [
        ({ sandbox }) => ({
          recipient_address: null,
          recipient_address_id: present(sandbox.addresses.own()[1]).id,
        }),
        ({ sandbox }) => shown({ recipient_address: { id: present(sandbox.addresses.own()[1]).id } }),
      ],
    ],
    refused: [[{ recipient_address: null, recipient_address_id: '5' }, 'no such address for this store']],
  }),
  ...text('external_order_id', 'up to 128 characters', 128),
  rule('order-create.field.external_order_id', 'each channel has its own', async (context) => {
    const token = await second(context);
    const body = context.body({ external_order_id: 'A-1' });
    const keyed = await context.steer('/operations', { operation: 'place_order', order: body });
    const first = await context.order({ external_order_id: 'A-1' });
    const other = (await context.raw.post(CREATE, body, { token })).body['order'] as Json;
    const ids = [(keyed['order'] as Json)['id'], first['id'], other['id']];
    expect(new Set(ids).size).toBe(3);
    expect(sellable(context.lamp)).toBe(7);
  }),
  ...flag('is_cod', false),
  ...fieldRule(['order-create.field.cod_fee', 'order-create.field.is_cod'], 'with cash on delivery only', {
    path: CREATE,
    taken: [[cod, shown({ is_cod: true, cod_fee: '15.00', cod_amount: '265.00' })]],
    refused: [
      [{ ...cod, cod_fee: undefined }, 'cod_fee'],
      [{ ...cod, cod_fee: 'x' }, 'cod_fee'],
      [{ ...cod, cod_fee: -1 }, 'cod_fee'],
      [{ cod_fee: 15 }, 'cod_fee'],
      [{ is_cod: false, cod_fee: 15 }, 'cod_fee'],
    ],
  }),
  ...fieldRule('order-create.field.cod_amount', 'with cash on delivery only', {
    path: CREATE,
    taken: [[cod, shown({ cod_amount: '265.00' })]],
    refused: [
      [{ ...cod, cod_amount: undefined }, 'cod_amount'],
      [{ ...cod, cod_amount: -1 }, 'cod_amount'],
      [{ cod_amount: 265 }, 'cod_amount'],
      [{ is_cod: false, cod_amount: 265 }, 'cod_amount'],
    ],
  }),
  ...fieldRule('order-create.field.sender_name', 'the store’s unless told', {
    path: CREATE,
    taken: [
      [{}, shown({ sender_name: 'ร้านจำลอง' })],
      [{ sender_name: 'ร้านอื่น' }, shown({ sender_name: 'ร้านอื่น' })],
    ],
    refused: [[{ sender_name: 7 }, 'sender_name']],
  }),
  ...fieldRule('order-create.field.sender_address_id', 'an own one', {
    path: CREATE,
    taken: [
      [
        ({ sandbox }) => ({ sender_address_id: present(sandbox.addresses.own()[2]).id }),
        ({ sandbox }) => shown({ sender_address: { id: present(sandbox.addresses.own()[2]).id } }),
      ],
    ],
    refused: [
      [{ sender_address_id: '5' }, 'sender_address_id: no such address for this store'],
      [
        ({ sandbox }) => ({ sender_address_id: sandbox.addresses.addCustomers(recipient).id }),
        'sender_address_id: no such address for this store',
      ],
    ],
  }),
  rule('order-create.field.sender_address_id', 'by default the primary, else the oldest', async (context) => {
    const { sandbox, order, steer } = context;
    const [primary, oldest, newest] = sandbox.addresses.own().map(({ id }) => id);
    const sender = async () => ((await order())['sender_address'] as Json)['id'];
    const set = (id: unknown, as: 'primary' | 'other') =>
      steer('/operations', { operation: 'set_primary', address_id: id, is_primary: as === 'primary' });
    expect(await sender()).toBe(primary);
    await set(primary, 'other');
    expect(await sender()).toBe(oldest);
    await set(newest, 'primary');
    expect(await sender()).toBe(newest);
  }),
  ...text('channel', 'any text, for its values are not shown'),
  ...fee('discount', '239.50'),
  ...fee('shipping_fee', '260.50'),
  ...fee('other_fee', '260.50'),
  ...flag('ship_before_pay', false),
  ...flag('auto_request_xshipping', true),
  ...text('shipping_label_note', 'up to 1000 characters', 1_000),
  ...text('private_note', 'up to 1000 characters', 1_000),
  ...fieldRule('order-create.field.order_time', 'as told', {
    path: CREATE,
    taken: [[{ order_time: MS }, shown({ order_time: MS })]],
    refused: [[{ order_time: MS / 1_000 }, 'order_time']],
  }),
  rule('order-create.field.order_time', 'now unless told', async ({ sandbox, order, advance }) => {
    advance(HOUR_MS);
    expect((await order())['order_time']).toBe(sandbox.clock.now());
  }),
  ...fieldRule('order-create.field.expiration_time', 'as told', {
    path: CREATE,
    taken: [[{ expiration_time: 2 * MS }, shown({ expiration_time: 2 * MS })]],
    refused: [[{ expiration_time: MS / 1_000 }, 'expiration_time']],
  }),
  rule(
    'order-create.field.expiration_time',
    'unpaid by then, its stock comes back; paid, it stays',
    async (context) => {
      const expiration = { expiration_time: context.sandbox.clock.now() + HOUR_MS };
      const unpaid = await context.order(expiration);
      const paid = await context.order(expiration);
      const without = await context.order();
      await pay(context, paid['id']);
      context.advance(HOUR_MS - 1);
      expect(sellable(context.lamp)).toBe(7);
      context.advance(1);
      expect(sellable(context.lamp)).toBe(8);
      expect(await context.read(unpaid['id'])).toMatchObject({ status: 'canceled' });
      for (const { id } of [paid, without]) expect(await context.read(id)).toMatchObject({ status: 'open' });
    },
  ),
  ...fieldRule('order-create.field.ship_deadline_time', 'as told', {
    path: CREATE,
    taken: [[{ ship_deadline_time: 2 * MS }, shown({ ship_deadline_time: 2 * MS })]],
    refused: [[{ ship_deadline_time: MS / 1_000 }, 'ship_deadline_time']],
  }),
  rule('order-create.rule.1', 'whatever else is sent', async ({ order, lamp, sandbox, webhooks }) => {
    const first = await order({ external_order_id: 'A-1' });
    expect(await order({ external_order_id: 'A-1', discount: 5, ...sku('NOT THERE') })).toEqual(first);
    expect((await order({ external_order_id: 'a-1' }))['id']).not.toBe(first['id']);
    expect(sellable(lamp)).toBe(8);
    expect(await webhooks()).toHaveLength(2);

    sandbox.reads.latencyMs = { min: 0, max: 0 };
    const orders = await Promise.all([1, 2, 3, 4].map(() => order({ external_order_id: 'A-2' })));
    expect(new Set(orders.map(({ id }) => id)).size).toBe(1);
    expect(sellable(lamp)).toBe(7);
  }),
  clientRule('order-create.rule.1', 'the order that is there', async ({ client, lamp }) => {
    const mine = client();
    const { order } = await mine.createOrder({ ...request, external_order_id: 'A-1' });
    const again = await mine.createOrder({ ...request, external_order_id: 'A-1', discount: 5 });
    expect(again.order).toEqual(order);
    expect(sellable(lamp)).toBe(9);
  }),
  rule('order-create.rule.2', 'and reserves once more', async ({ order, lamp }) => {
    expect((await order())['id']).not.toBe((await order())['id']);
    expect(sellable(lamp)).toBe(8);
  }),
  ...fieldRule(['order-create.rule.3', 'order-create.field.recipient_address'], 'both, and neither', {
    path: CREATE,
    refused: [
      [
        ({ sandbox }) => ({ recipient_address_id: present(sandbox.addresses.own()[0]).id }),
        'recipient_address',
      ],
      [{ recipient_address: undefined }, 'recipient_address'],
      [{ recipient_address: null }, 'recipient_address'],
    ],
  }),
  rule('order-create.rule.4', 'and makes nothing', async ({ raw, body, lamp }) => {
    const answer = await raw.post(CREATE, body({ private_note: 'x'.repeat(1_048_576) }));
    expect(errorOf(answer)).toEqual([413, 'invalid_request']);
    expect(sellable(lamp)).toBe(10);
  }),
  rule('order-create.answer', 'these two', async ({ raw, body }) => {
    const answer = await raw.post(CREATE, body());
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual(['order', 'request_id']);
    expect(answer.body['request_id']).toBe(answer.headers.get('x-request-id'));
  }),
  rule('order-create.errors', 'and nothing is made', async ({ raw, body, steer, lamp }) => {
    const seen = [
      await raw.post(CREATE, body({ colour: 'red' })),
      await raw.post(CREATE, body(), { token: null }),
      await raw.post(CREATE, `{"private_note":"${'x'.repeat(1_048_576)}"}`),
    ];
    for (const faults of [
      { access_denied: true },
      { access_denied: false, quota_exceeded: true },
      { quota_exceeded: false, fail: { server_error: 1 } },
    ]) {
      await steer('/faults', faults);
      seen.push(await raw.post(CREATE, body()));
    }
    expect(seen.map(errorOf)).toEqual([
      [400, 'invalid_request'],
      [401, 'invalid_token'],
      [413, 'invalid_request'],
      [403, 'access_denied'],
      [403, 'quota_exceeded'],
      [500, 'server_error'],
    ]);
    expect(sellable(lamp)).toBe(10);
  }),

  ...fieldRule('order-detail.exactly-one', 'both, and neither', {
    path: DETAIL,
    refused: [
      [{ order_id: '5', external_order_id: 'A-1' }, 'order_id'],
      [{}, 'order_id'],
      [{ order_id: null }, 'order_id'],
    ],
  }),
  rule('order-detail.field.order_id', 'of the app’s orders and of other channels’', async (context) => {
    const token = await second(context);
    const keyed = await context.steer('/operations', { operation: 'place_order', order: context.body() });
    const other = await context.raw.post(CREATE, context.body(), { token });
    for (const { order } of [keyed, other.body] as { order: Json }[]) {
      expect(await context.read(order['id'])).toEqual(order);
    }
    const counter = { operation: 'reserve', lines: [{ variant_id: context.lamp.id, qty: 2 }] };
    const { order_id: id } = await context.steer('/operations', counter);
    expect(await context.read(id)).toMatchObject({ id });
    expectRefused(await context.raw.post(DETAIL, { order_id: 5 }), 'order_id');
  }),
  clientRule('order-detail.field.order_id', 'of the app’s orders', async ({ client, steer, body }) => {
    const { order } = (await steer('/operations', { operation: 'place_order', order: body() })) as {
      order: Json;
    };
    expect(await client().orderDetail({ order_id: order['id'] as string })).toMatchObject({
      rawOrder: order,
    });
  }),
  rule('order-detail.field.external_order_id', 'of no other channel, and not of the app', async (context) => {
    const token = await second(context);
    const { raw, body, steer } = context;
    const mine = await context.order({ external_order_id: 'A-1' });
    const theirs = (await raw.post(CREATE, body({ external_order_id: 'B-1' }), { token })).body['order'];
    await steer('/operations', { operation: 'place_order', order: body({ external_order_id: 'APP-1' }) });
    const read = async (id: string, of?: string) => {
      const answer = await raw.post(DETAIL, { external_order_id: id }, of === undefined ? {} : { token: of });
      return answer.status === 200 ? answer.body['order'] : answer.status;
    };
    expect([await read('A-1'), await read('B-1'), await read('APP-1')]).toEqual([mine, 404, 404]);
    expect([await read('A-1', token), await read('B-1', token)]).toEqual([404, theirs]);
  }),
  clientRule('order-detail.field.external_order_id', 'of its own', async ({ client }) => {
    const mine = client();
    const { rawOrder } = await mine.createOrder({ ...request, external_order_id: 'A-1' });
    expect(await mine.orderDetail({ external_order_id: 'A-1' })).toMatchObject({
      outcome: 'found',
      rawOrder,
    });
    expect(await mine.orderDetail({ external_order_id: 'A-2' })).toMatchObject({ outcome: 'not_found' });
  }),
  ...fieldRule('order-detail.unknown-keys', 'refused', {
    path: DETAIL,
    refused: [[{ order_id: '5', store_id: '1' }, 'store_id']],
  }),
  rule('order-detail.answer', 'as it stands now', async (context) => {
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
      ...{ id, is_paid: true, shipments: [{ tracking_number: expect.stringMatching(/./) }] },
    });
  }),
  rule(['order-detail.not-found', 'errors.rule.2'], 'word for word', async (context) => {
    const token = await second(context);
    const { raw, body, steer } = context;
    const deleted = await context.order({ external_order_id: 'D-1' });
    await steer('/operations', { operation: 'delete_order', order_id: deleted['id'] });
    await raw.post(CREATE, body({ external_order_id: 'B-1' }), { token });
    const misses = [
      { order_id: '5' },
      { order_id: deleted['id'] },
      { external_order_id: 'D-1' },
      { external_order_id: 'nothing' },
      { external_order_id: 'B-1' },
      // Another store's, whose ids exist all the same.
      {
        order_id: present(context.sandbox.truth.products.find(({ parentId }) => parentId !== null)).parentId,
      },
    ];
    const answers = await Promise.all(misses.map((miss) => raw.post(DETAIL, miss)));
    for (const answer of answers) {
      expect(errorOf(answer)).toEqual([404, 'not_found']);
      expect(answer.body).toEqual(present(answers[0]).body);
    }
  }),
  clientRule(
    ['order-detail.not-found', 'errors.rule.2', 'errors.404.not_found'],
    'an outcome, no error',
    async ({ client }) => {
      const mine = client();
      expect(await mine.orderDetail({ order_id: '5' })).toMatchObject({ outcome: 'not_found' });
      expect(await mine.productDetail('5')).toMatchObject({ outcome: 'not_found' });
    },
  ),
  rule('order-detail.errors', 'each of them', async ({ raw, order, steer }) => {
    const read = { order_id: (await order())['id'] };
    const seen = [
      await raw.post(DETAIL, {}),
      await raw.post(DETAIL, read, { token: null }),
      await raw.post(DETAIL, { order_id: '5' }),
    ];
    await steer('/faults', { access_denied: true });
    seen.push(await raw.post(DETAIL, read));
    await steer('/faults', { access_denied: false, fail: { server_error: 1 } });
    seen.push(await raw.post(DETAIL, read));
    expect(seen.map(errorOf)).toEqual([
      [400, 'invalid_request'],
      [401, 'invalid_token'],
      [404, 'not_found'],
      [403, 'access_denied'],
      [500, 'server_error'],
    ]);
  }),
];
