/** Orders and addresses: requests sent and answers parsed. */
import { describe, expect, test } from 'vitest';
import type { CreateOrderRequest } from '../../src/store-api/contract/order-schemas.ts';
import { connected, failureOf, START_MS } from './connection.ts';
import { sendError, sendHtml, sendJson } from './stub-service.ts';

const CREATE = '/v1/order/create';
const DETAIL = '/v1/order/detail';
const ADDRESSES = '/v1/store/address/list';

const order: CreateOrderRequest = {
  shipping_type: 'flash',
  products: [{ sku: 'เสื้อ-แดง/M', qty: 2, price: '199.50' }],
  recipient_address: { name: 'สมหญิง', postal_code: 10110, email: 'som@example.com' },
  external_order_id: 'A-1',
  is_cod: true,
  cod_fee: 0,
  cod_amount: 399,
  order_time: START_MS,
};

describe('createOrder', () => {
  test('sends the order unchanged and returns the record', async () => {
    const { service, client } = await connected();
    const sent = { id: '900', external_order_id: 'A-1', state: 'new_state', note: null };
    service.answer(CREATE, (response) => sendJson(response, 200, { request_id: 'r', order: sent }));
    const answer = await client.createOrder(order);
    expect(answer).toMatchObject({
      order: { id: '900', external_order_id: 'A-1', state: 'new_state' },
      rawOrder: sent,
      requestId: 'request-1',
      sentAtMs: START_MS,
      receivedAtMs: START_MS,
    });
    expect(answer.order.shipments).toBeUndefined();
    const [request] = service.to(CREATE);
    expect(JSON.parse(request?.body ?? '')).toEqual(order);
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      'x-request-id': 'request-1',
    });
  });

  test.each([
    ['the connection is cut', 'unavailable', true],
    ['the answer has no order', 'contract', true],
    ["the answer is a proxy's 404", 'contract', false],
  ])('reports whether the order may exist if %s', async (trouble, kind, mayExist) => {
    const { service, client } = await connected();
    service.answer(CREATE, (response) => {
      if (trouble === 'the connection is cut') response.destroy();
      else if (trouble === 'the answer has no order') sendJson(response, 200, { request_id: 'r' });
      else sendHtml(response, 404);
    });
    const error = await failureOf(client.createOrder(order));
    expect(error.kind).toBe(kind);
    expect(error.message.includes('may have been created')).toBe(mayExist);
  });
});

describe('orderDetail', () => {
  test("returns not_found only for the store's 404", async () => {
    const { service, client } = await connected();
    service.answer(DETAIL, (response) => sendError(response, 404, 'not_found'));
    expect(await client.orderDetail({ order_id: '900' })).toEqual({
      outcome: 'not_found',
      requestId: 'request-1',
      sentAtMs: START_MS,
      receivedAtMs: START_MS,
      serverDateMs: expect.any(Number),
    });
    service.answer(DETAIL, (response) => sendHtml(response, 404));
    expect(await failureOf(client.orderDetail({ order_id: '900' }))).toMatchObject({ kind: 'contract' });
  });
});

test('listAddresses returns a page with unknown fields and without malformed details', async () => {
  const { service, client } = await connected();
  const address = {
    id: '5',
    name: 'คลัง',
    is_primary: true,
    postal_code: '10110',
    branch_type: 'x',
    new: 1,
  };
  service.answer(ADDRESSES, (response) => sendJson(response, 200, { addresses: [address], has_more: false }));
  const { page } = await client.listAddresses({ limit: 200, offset: 0 });
  expect(page).toMatchObject({
    addresses: [{ id: '5', name: 'คลัง', is_primary: true, branch_type: 'x', new: 1 }],
    has_more: false,
  });
  expect(page.addresses[0]?.postal_code).toBeUndefined();
  expect(JSON.parse(service.to(ADDRESSES)[0]?.body ?? '')).toEqual({ limit: 200, offset: 0 });
});

test.each([
  ['as documented', {}],
  ['as null', { description: null, category: null, min: null }],
  [
    'oddly',
    {
      description: 7,
      img_uris: 'one',
      category: {},
      shipping_rates: [{}],
      min: 12.5,
      pg_vd_ids: [1],
      has_child: 'no',
      create_time: '',
    },
  ],
])('productDetail keeps its stock with descriptive fields %s', async (_how, odd) => {
  const { service, client } = await connected();
  const sent = {
    id: '7',
    name: 'เสื้อ',
    store_id: '1',
    description: 'ผ้าฝ้าย',
    img_uris: ['https://img.example/1.jpg'],
    category: { id: '3', name: 'เสื้อผ้า', color: '#f00' },
    price_tier_ids: ['1'],
    pg_vd_ids: [{ price_tier_id: '1', vd_id: '2' }],
    shipping_rates: [
      { id: '4', shipping_type: 'drone', is_cod: false, init_qty: 1, init_price: '40', next_price: '10.5' },
    ],
    min: '99',
    max: '120.50',
    variants: [{ product_variant_id: '70', name: '', available_qty: 3, weight: 250, img_url: 'https://i/1' }],
    ...odd,
  };
  service.answer('/v1/product/detail', (response) => sendJson(response, 200, { product: sent }));
  const answer = await client.productDetail('7');
  const absent = Object.fromEntries(Object.keys(odd).map((key) => [key, undefined]));
  expect(answer).toMatchObject({ outcome: 'found', product: { ...sent, ...absent }, rawProduct: sent });
});
