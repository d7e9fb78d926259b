/** What the simulated service says and sends is as its document has it, and what is not is found. */
import { expect, test } from 'vitest';
import { levelOf, requestToken, sandboxFor } from '../sandbox/harness.ts';
import type { Reply } from '../sandbox/harness.ts';
import { recipient, shopFor } from '../sandbox/shop.ts';
import { checkAnswer, checkRequest, checkWebhook, ContractError, fetchDocument } from './openapi.ts';

const LIST = '/v1/product/list';
const DETAIL = '/v1/product/detail';
const CREATE = '/v1/order/create';

async function documented() {
  const shop = await shopFor({ products: 40 });
  const document = await fetchDocument(shop.sandbox.baseUrl);
  const check = (path: string, reply: Reply): Reply => {
    checkAnswer(document, { method: 'POST', path, ...reply });
    return reply;
  };
  return { shop, document, check };
}

test('answers of every endpoint', async () => {
  const { shop, check } = await documented();
  check('/oauth/token', await requestToken(shop.sandbox));
  const { body: page } = check(LIST, await shop.call(LIST, { limit: 100, get_count: true }));
  const products = page['products'] as { id: string }[];
  expect(products.length).toBeGreaterThan(40);
  for (const { id } of products) check(DETAIL, await shop.call(DETAIL, { product_id: id }));
  check('/v1/store/address/list', await shop.call('/v1/store/address/list'));
  const address = {
    ...recipient,
    email: 'สมชาย@example.invalid',
    branch_type: 'h',
  };
  const made = check(CREATE, await shop.create({ external_order_id: 'a', recipient_address: address }));
  const { id } = made.body['order'] as { id: string };
  await shop.steer('/operations', { operation: 'pay', order_id: id });
  await shop.steer('/clock', { advance_ms: 60_000 });
  const shipped = check('/v1/order/detail', await shop.detail(id));
  expect(shipped.body['order']).toHaveProperty('shipments');
});

test('errors', async () => {
  const { shop, check } = await documented();
  const { sandbox } = shop;
  const statuses: number[] = [];
  const error = (path: string, reply: Reply) => statuses.push(check(path, reply).status);
  error(CREATE, await shop.create({ shipping_type: 'pigeon' }));
  error(LIST, await shop.call(LIST, {}, { authorization: 'Bearer none' }));
  error(DETAIL, await shop.call(DETAIL, { product_id: '0' }));
  error('/v1/order/detail', await shop.detail('0'));
  error(CREATE, await shop.call(CREATE, 'x'.repeat(1_100_000)));
  sandbox.access.quotaExceeded = true;
  error(CREATE, await shop.create());
  sandbox.access.accessDenied = true;
  error('/v1/store/address/list', await shop.call('/v1/store/address/list'));
  sandbox.reads.fail.serverError = 1;
  error(LIST, await shop.call(LIST));
  error('/oauth/token', await requestToken(sandbox, { grant_type: 'password' }));
  for (let failed = 0; failed < 9; failed += 1) {
    error('/oauth/token', await requestToken(sandbox, { client_secret: 'wrong' }));
  }
  expect(new Set(statuses)).toEqual(new Set([400, 401, 404, 413, 403, 500, 429]));
});

test('webhooks', async () => {
  const { shop, document } = await documented();
  const { sandbox, receiver, variant } = shop;
  await shop.order();
  sandbox.operations.adjust({ ...levelOf(variant), to: 3 });
  await sandbox.network.idle();
  expect(receiver.items().map(({ reason }) => reason)).toEqual(['order_reserved', 'user_adjusted']);
  for (const { headers, body } of receiver.received) checkWebhook(document, { headers, body });
});

const row = { id: '1', name: 'Lamp' };
const page = { request_id: 'r', products: [row], has_more: false };
const json = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'r' };
const right = { method: 'POST', path: LIST, status: 200, headers: json, body: page };
const error = (code: string) => ({ error: code, error_description: 'text' });

test.each([
  ['an unknown path', { path: '/v1/other' }, /\/v1\/other → 200: not in the document/],
  ['an unknown method', { method: 'GET' }, /^GET .* not in the document/],
  ['an undocumented status', { status: 204 }, /→ 204: the status is not documented/],
  ['a status of another endpoint', { status: 404, body: error('not_found') }, /404: the status is not/],
  ['a code of another status', { status: 401, body: error('invalid_request') }, /body: \/error/],
  ['no request id', { headers: { ...json, 'x-request-id': undefined } }, /header X-Request-Id is missing/],
  ['no Content-Type', { headers: { 'x-request-id': 'r' } }, /header Content-Type: none/],
  ['another Content-Type', { headers: { ...json, 'content-type': 'text/html' } }, /Content-Type: text\/html/],
  ['no body', { body: undefined }, /200: body: missing/],
  ['an id that is a number', { body: { ...page, products: [{ ...row, id: 1 }] } }, /\/products\/0\/id/],
  ['a field that is null', { body: { ...page, products: [{ ...row, image_url: null }] } }, /image_url/],
  ['a picture that is no URI', { body: { ...page, products: [{ ...row, image_url: 'x' }] } }, /"uri"/],
  ['no has_more', { body: { ...page, has_more: undefined } }, /has_more/],
])('an answer with %s is found', async (_, wrong, named) => {
  const { baseUrl } = await sandboxFor({ products: 0 });
  const document = await fetchDocument(baseUrl);
  checkAnswer(document, right);
  checkAnswer(document, { ...right, body: { ...page, more: [null] } });
  const answer = { ...right, ...wrong };
  expect(() => {
    checkAnswer(document, { ...answer, body: parsed(answer.body) });
  }).toThrow(ContractError);
  expect(() => {
    checkAnswer(document, { ...answer, body: parsed(answer.body) });
  }).toThrow(named);
});

test('a 429 without its Retry-After is found, and one that is no number', async () => {
  const { baseUrl } = await sandboxFor({ products: 0 });
  const document = await fetchDocument(baseUrl);
  const slow = { ...right, path: '/oauth/token', status: 429, body: error('slow_down') };
  const check = (headers: Record<string, string>) => () => {
    checkAnswer(document, { ...slow, headers: { ...json, ...headers } });
  };
  expect(check({ 'retry-after': '30' })).not.toThrow();
  expect(check({})).toThrow('header Retry-After is missing');
  expect(check({ 'retry-after': 'Sat, 21 Nov 2026 00:00:00 GMT' })).toThrow('header Retry-After: ');
});

test('requests', async () => {
  const { baseUrl } = await sandboxFor({ products: 0 });
  const document = await fetchDocument(baseUrl);
  const headers = { authorization: 'Bearer x', 'content-type': 'application/json' };
  const form = { grant_type: 'client_credentials', client_id: 'a', client_secret: 'b' };
  const check =
    (path: string, body?: unknown, sent: Record<string, string> = headers) =>
    () => {
      checkRequest(document, { method: 'POST', path, headers: sent, body });
    };
  expect(check(LIST)).not.toThrow();
  expect(check(LIST, { limit: null })).not.toThrow();
  expect(check(LIST, { limit: 101 })).toThrow('/limit');
  expect(check(LIST, {}, { 'content-type': 'application/json' })).toThrow('header Authorization');
  expect(check(DETAIL)).toThrow('body: missing');
  expect(check(DETAIL, { product_id: '1', store_id: '1' })).toThrow('store_id');
  expect(check('/oauth/token', form)).toThrow('header Content-Type');
  const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' };
  expect(check('/oauth/token', form, formHeaders)).not.toThrow();
  expect(check('/oauth/token', { ...form, grant_type: 'password' }, formHeaders)).toThrow('/grant_type');
});

test('a webhook that is not as documented is found', async () => {
  const { baseUrl } = await sandboxFor({ products: 0 });
  const document = await fetchDocument(baseUrl);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'service-webhook/1.0',
    'x-service-signature': '0a'.repeat(32),
  };
  const item = { id: '1', sku: '', old: 1, new: 0, warehouse_id: '2', update_time: 3, reason: 'new code' };
  const check =
    (items: object[], sent: object = {}) =>
    () => {
      checkWebhook(document, {
        headers: { ...headers, ...sent },
        body: { request_id: 'r', event_type: 'stock_available_updated', request_time: 3, data: { items } },
      });
    };
  expect(check([item, { ...item, order_id: '1' }, { ...item, user_id: '1' }])).not.toThrow();
  expect(check([])).toThrow('/data/items');
  expect(check([{ ...item, order_id: '1', user_id: '2' }])).toThrow('/data/items/0');
  expect(check([{ ...item, sku: null }])).toThrow('/data/items/0/sku');
  expect(check([item], { 'x-service-signature': '0A'.repeat(32) })).toThrow('header X-Service-Signature');
  expect(check([item], { 'x-service-signature': undefined })).toThrow('X-Service-Signature is missing');
});

/** As it would arrive: a field that is undefined was not sent. */
function parsed(body: unknown): unknown {
  return body === undefined ? undefined : JSON.parse(JSON.stringify(body));
}
