import { expect } from 'vitest';
import { parseDelivery } from '../../src/store-api/delivery.ts';
import { present } from '../shared/present.ts';
import { recipient } from '../sandbox/harness.ts';
import { levelOf } from '../sandbox/harness.ts';
import type { Json } from '../sandbox/harness.ts';
import { rule } from './contract.ts';

/** The same with a field that nobody knows, in it and in every object of it. */
function withUnknownFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUnknownFields);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, each]) => [key, withUnknownFields(each)] as const);
  return { ...Object.fromEntries(inner), of_tomorrow: { id: 7 } };
}

rule('versioning.2', 'unknown fields at any depth of an answer', async ({ client, sandbox, lamp }) => {
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
});

rule('versioning.2', 'unknown fields and types of an event', async ({ sandbox, webhooks, lamp }) => {
  sandbox.operations.add({ ...levelOf(lamp), by: 1 });
  const delivery = present((await webhooks())[0]);
  const changed = (value: unknown) => parseDelivery(Buffer.from(JSON.stringify(value)));
  expect(changed(withUnknownFields(delivery.body))).toEqual(parseDelivery(delivery.raw));
  // Of a type of tomorrow there is nothing to apply, and nothing to refuse.
  expect(changed({ ...delivery.body, event_type: 'price_updated' })).toMatchObject({ changes: [] });
});
