import { expect } from 'vitest';
import { parseDelivery } from '../../../src/store-api/delivery.ts';
import { present } from '../../shared/present.ts';
import { recipient } from '../../sandbox/shop.ts';
import { levelOf } from '../../sandbox/harness.ts';
import type { Json } from '../../sandbox/harness.ts';
import { clientRule, rule } from '../contract.ts';
import type { ContractCase } from '../contract.ts';
import { fetchDocument } from '../openapi.ts';
import { errorOf } from '../raw.ts';

/** The same with a field that nobody knows, in it and in every object of it. */
function withUnknownFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUnknownFields);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, each]) => [key, withUnknownFields(each)] as const);
  return { ...Object.fromEntries(inner), of_tomorrow: { id: 7 } };
}

export const cases: ContractCase[] = [
  rule('versioning.1', 'and no path without it', async ({ sandbox, raw }) => {
    const document = (await fetchDocument(sandbox.baseUrl)) as { info: Json; paths: Json; webhooks: Json };
    expect(document.info).toMatchObject({ version: '1.0.0' });
    expect(Object.keys(document.paths).sort()).toEqual([
      ...['/oauth/token', '/v1/order/create', '/v1/order/detail'],
      ...['/v1/product/detail', '/v1/product/list', '/v1/store/address/list'],
    ]);
    expect(Object.keys(document.webhooks)).toEqual(['stock_available_updated']);
    for (const path of ['/product/list', '/v2/product/list', '/v1/product/list/']) {
      expect(errorOf(await raw.post(path, {}))).toEqual([404, 'not_found']);
    }
  }),
  clientRule(
    'versioning.2',
    'unknown fields at any depth of an answer',
    async ({ client, sandbox, lamp }) => {
      sandbox.reads.intercept = (_path, _body, respond) => {
        const { status, body } = respond();
        return Promise.resolve({ status, body: withUnknownFields(body) as Json });
      };
      const mine = client();
      const { order } = await mine.createOrder({
        ...{ shipping_type: 'flash', products: [{ sku: 'LAMP-1', qty: 1 }], recipient_address: recipient },
      });
      expect(order['of_tomorrow']).toEqual({ id: 7 });
      expect(await mine.orderDetail({ order_id: order.id })).toMatchObject({ outcome: 'found' });
      expect((await mine.listAddresses()).page.addresses).toHaveLength(3);
      expect((await mine.listProducts()).page.products).toHaveLength(20);
      expect(await mine.productDetail(lamp.product.id)).toMatchObject({
        ...{ outcome: 'found', product: { variants: [{ available_qty: 9 }] } },
      });
    },
  ),
  clientRule('versioning.2', 'unknown fields and types of an event', async ({ sandbox, webhooks, lamp }) => {
    sandbox.operations.add({ ...levelOf(lamp), by: 1 });
    const delivery = present((await webhooks())[0]);
    const changed = (value: unknown) => parseDelivery(Buffer.from(JSON.stringify(value)));
    expect(changed(withUnknownFields(delivery.body))).toEqual(parseDelivery(delivery.raw));
    // Of a type of tomorrow there is nothing to apply, and nothing to refuse.
    expect(changed({ ...delivery.body, event_type: 'price_updated' })).toMatchObject({ changes: [] });
  }),
  rule('versioning.2', 'the service itself refuses them in requests alone', async ({ raw, body }) => {
    expect(errorOf(await raw.post('/v1/order/create', body({ of_tomorrow: 1 })))).toEqual([
      400,
      'invalid_request',
    ]);
  }),
  clientRule(
    'versioning.3',
    'the client tells codes of today and of tomorrow as they are',
    async ({ client, sandbox }) => {
      const mine = client({ retry: { attempts: 1 } });
      for (const code of ['invalid_request', 'access_denied', 'quota_exceeded', 'of_tomorrow']) {
        const body = { error: code, error_description: `another wording ${code.length}` };
        sandbox.reads.intercept = () => Promise.resolve({ status: 403, body });
        await expect(mine.listAddresses()).rejects.toMatchObject({ kind: 'rejected', code });
      }
    },
  ),
];
