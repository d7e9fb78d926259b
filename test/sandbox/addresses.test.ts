import { describe, expect, test } from 'vitest';
import { addressListResponseSchema } from '../../src/service/order-schemas.ts';
import type { Json } from './harness.ts';
import { recipient, shopFor } from './shop.ts';
import type { Shop } from './shop.ts';

type Row = { id: string; name: string; is_primary: boolean };
const list = (shop: Shop, body?: unknown) => shop.call('/v1/store/address/list', body);
const rows = async (shop: Shop, body?: unknown) => (await list(shop, body)).body['addresses'] as Row[];
const add = (shop: Shop, name: string, isPrimary = false) =>
  shop.steer('/operations', { operation: 'add_address', address: { name }, is_primary: isPrimary });

describe('POST /v1/store/address/list', () => {
  test.each([
    ['nothing', undefined],
    ['{}', {}],
    ['null for a page', { limit: null, offset: null }],
  ])('the body is optional: %s', async (_, body) => {
    const shop = await shopFor();
    const answer = await list(shop, body);
    expect(answer.status).toBe(200);
    expect(addressListResponseSchema.parse(answer.body).addresses).toHaveLength(3);
    expect(answer.body).toMatchObject({ request_id: answer.headers.get('x-request-id'), has_more: false });
    expect(JSON.stringify(answer.body)).not.toContain('null');
  });

  test('order: primary first, then oldest first', async () => {
    const shop = await shopFor();
    const [primary, oldest, newest] = await rows(shop);
    expect([primary, oldest, newest].map((row) => row?.is_primary)).toEqual([true, false, false]);
    await add(shop, 'later');
    await add(shop, 'later, primary', true);
    const names = (await rows(shop)).map(({ name }) => name);
    expect(names).toEqual([primary!.name, 'later, primary', oldest!.name, newest!.name, 'later']);
  });

  test('none may be primary: then the oldest is first', async () => {
    const shop = await shopFor();
    const [primary, oldest] = await rows(shop);
    await shop.steer('/operations', { operation: 'set_primary', address_id: primary!.id, is_primary: false });
    expect((await rows(shop)).map(({ id }) => id).slice(0, 2)).toEqual([oldest!.id, primary!.id]);
  });

  test('ids never change', async () => {
    const ids = async () => (await rows(await shopFor())).map(({ id }) => id);
    expect(await ids()).toEqual(await ids());
  });

  test('the first address of the first page is the default sender', async () => {
    const shop = await shopFor();
    const [first] = await rows(shop, { limit: 1 });
    const { is_primary: _, ...address } = first!;
    expect((await shop.order())['sender_address']).toEqual(address);
  });

  test('customers’ addresses are not in it', async () => {
    const shop = await shopFor();
    const before = await rows(shop);
    const order = await shop.order();
    expect((order['recipient_address'] as Json)['name']).toBe(recipient.name);
    expect(await rows(shop)).toEqual(before);
  });

  test('Limits: pages of 1 to 200, 100 by default', async () => {
    const shop = await shopFor();
    for (let added = 3; added < 205; added += 1) await add(shop, `address ${added}`);
    const page = async (body: Json) => {
      const answer = await list(shop, body);
      return [(answer.body['addresses'] as Row[]).length, answer.body['has_more']];
    };
    expect(await page({})).toEqual([100, true]);
    expect(await page({ limit: 200 })).toEqual([200, true]);
    expect(await page({ limit: 200, offset: 200 })).toEqual([5, false]);
    expect(await page({ limit: 1, offset: 203 })).toEqual([1, true]);
    expect(await page({ limit: 1, offset: 204 })).toEqual([1, false]);
    expect(await page({ offset: 205 })).toEqual([0, false]);

    const all = [...(await rows(shop, { limit: 200 })), ...(await rows(shop, { limit: 200, offset: 200 }))];
    expect(new Set(all.map(({ id }) => id)).size).toBe(205);
  });

  test.each<[string, unknown, string]>([
    ['limit 0', { limit: 0 }, 'limit'],
    ['limit 201', { limit: 201 }, 'limit'],
    ['limit as text', { limit: '5' }, 'limit'],
    ['a negative offset', { offset: -1 }, 'offset'],
    ['a broken offset', { offset: 0.5 }, 'offset'],
    ['Conventions 5: an unknown field', { page: 1 }, 'page: unknown field'],
    ['Conventions 7: a store id', { store_id: '1' }, 'store_id: unknown field'],
    ['a list', [], 'JSON object'],
  ])('refuses %s', async (_, body, description) => {
    const answer = await list(await shopFor(), body);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
    expect(answer.body['error_description']).toContain(description);
  });
});
