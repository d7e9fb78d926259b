import { expect, test, describe } from 'vitest';
import { connected, failureOf, START_MS } from './connection.ts';
import { sendError, sendJson } from './stub-service.ts';

const DETAIL = '/v1/product/detail';

const variant = { product_variant_id: '100', name: '', available_qty: 4, weight: 1 };
const product = {
  id: '7',
  name: 'เสื้อแดง',
  description: '',
  store_id: '1',
  img_uris: [],
  variants: [{ ...variant, warehouses: [{ wh_id: '3', on_hand: 5, available_qty: 4, reserved_qty: 1 }] }],
};

describe('productDetail', () => {
  test('returns the product, its raw JSON and the times of the request', async () => {
    const { service, client, clock } = await connected();
    const sent = { ...product, parent_id: null, new_field: { deep: [1, null] } };
    service.answer(DETAIL, (response) => {
      clock.nowMs += 40;
      sendJson(response, 200, { request_id: 'r', product: sent }, { Date: 'Mon, 21 Sep 2026 14:13:21 GMT' });
    });
    const answer = await client.productDetail('7');
    expect(answer).toMatchObject({
      outcome: 'found',
      product: { id: '7', name: 'เสื้อแดง', variants: [{ available_qty: 4, warehouses: [{ wh_id: '3' }] }] },
      rawProduct: sent,
      sentAtMs: START_MS,
      receivedAtMs: START_MS + 40,
      serverDateMs: Date.UTC(2026, 8, 21, 14, 13, 21),
      requestId: 'request-1',
    });
    expect(answer.outcome === 'found' && answer.product.parent_id).toBeUndefined();
    const [request] = service.to(DETAIL);
    expect(JSON.parse(request?.body ?? '')).toEqual({ product_id: '7' });
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'stock-mirror/0.0.0-test',
      'x-request-id': 'request-1',
    });
  });

  test("returns not_found with its times for the store's 404", async () => {
    const { service, client } = await connected();
    service.answer(DETAIL, (response) => sendError(response, 404, 'not_found'));
    const answer = await client.productDetail('7');
    expect(answer).toEqual({
      outcome: 'not_found',
      requestId: 'request-1',
      sentAtMs: START_MS,
      receivedAtMs: START_MS,
      serverDateMs: expect.any(Number) as number,
    });
  });

  test('refuses the answer for another product', async () => {
    const { service, client } = await connected();
    service.answer(DETAIL, (response) => sendJson(response, 200, { product: { ...product, id: '07' } }));
    const error = await failureOf(client.productDetail('7'));
    expect(error).toMatchObject({ kind: 'contract', endpoint: DETAIL, requestId: 'request-1' });
    expect(error.message).toContain('asked for product 7, answered product 07');
  });

  test.each([
    ['no variants', { ...product, variants: undefined }, 'product.variants'],
    [
      'a variant without its stock',
      { ...product, variants: [{ product_variant_id: '100', name: '' }] },
      'product.variants[0].available_qty',
    ],
    [
      'an id that is a number',
      { ...product, variants: [{ ...variant, product_variant_id: 100 }] },
      'product.variants[0].product_variant_id',
    ],
    [
      'a quantity that a number cannot hold exactly',
      { ...product, variants: [{ ...variant, available_qty: 2 ** 53 }] },
      'product.variants[0].available_qty',
    ],
  ])('names the field of an answer with %s', async (_name, wrong, field) => {
    const { service, client } = await connected();
    service.answer(DETAIL, (response) => sendJson(response, 200, { product: wrong }));
    const error = await failureOf(client.productDetail('7'));
    expect(error).toMatchObject({ kind: 'contract', status: 200, requestId: 'request-1' });
    expect(error.message).toContain(`${field}: `);
  });

  test.each(['', 'x', '7 ', '-1', '٣'])('rejects the id %j without sending it', async (id) => {
    const { service, client } = await connected();
    const error = await failureOf(client.productDetail(id));
    expect(error).toMatchObject({ kind: 'rejected', code: 'invalid_request', status: undefined });
    expect(error.message).toContain('product_id: ');
    expect(service.requests).toEqual([]);
  });
});

describe('a refused token', () => {
  test('is replaced, and the call repeated with the times of the second request', async () => {
    const { service, client, clock } = await connected();
    service.answer(DETAIL, (response, _request, nth) => {
      clock.nowMs += 1000;
      if (nth === 1) sendError(response, 401, 'invalid_token');
      else sendJson(response, 200, { product });
    });
    const answer = await client.productDetail('7');
    expect(answer).toMatchObject({
      outcome: 'found',
      sentAtMs: START_MS + 1000,
      receivedAtMs: START_MS + 2000,
    });
    expect(service.to(DETAIL).map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-2',
    ]);
  });

  test('is replaced once for ten concurrent calls', async () => {
    const { service, client } = await connected({ maxConcurrency: 10 });
    service.answer(DETAIL, (response, request) => {
      if (request.headers.authorization === 'Bearer token-1') sendError(response, 401, 'invalid_token');
      else sendJson(response, 200, { product });
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.productDetail('7')));
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(10).fill('found'));
    expect(service.to('/oauth/token')).toHaveLength(2);
  });
});

describe('nothing else is retried', () => {
  test.each([
    [302, 'invalid_request', 'contract'],
    [400, 'invalid_request', 'rejected'],
    [400, 'invalid_token', 'rejected'],
    [401, 'invalid_client', 'rejected'],
    [403, 'access_denied', 'rejected'],
    [403, 'quota_exceeded', 'rejected'],
    [413, 'invalid_request', 'rejected'],
    [500, 'server_error', 'unavailable'],
    [503, 'server_error', 'unavailable'],
    [429, 'slow_down', 'rate_limited'],
  ])('%i %s is %s', async (status, code, kind) => {
    const { service, client } = await connected();
    service.answer(DETAIL, (response) => sendError(response, status, code));
    const error = await failureOf(client.productDetail('7'));
    expect(error).toMatchObject({ kind, status, code, description: `about ${code}`, endpoint: DETAIL });
    expect(error.message).toMatch(
      new RegExp(`^${DETAIL} failed: ${status} ${code}: about ${code} \\(request .*\\)\\. `),
    );
    expect(service.to(DETAIL)).toHaveLength(1);
  });

  test('stops waiting for the token when aborted', async () => {
    const { service, client } = await connected();
    const abort = new AbortController();
    service.answer('/oauth/token', () => abort.abort());
    for (let n = 0; n < 2; n += 1) {
      const error = await failureOf(client.productDetail('7', { signal: abort.signal }));
      expect(error).toMatchObject({ kind: 'aborted' });
    }
    expect(service.requests).toHaveLength(1);
  });
});
