import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { stockItemSchema, webhookEnvelopeSchema } from '../../src/store-api/contract/schemas.ts';
import { sign } from '../../src/sandbox/network/webhooks.ts';
import { present } from '../shared/present.ts';
import vectors from './fixtures/signatures.json' with { type: 'json' };
import { levelOf, manualTime, sandboxFor, variantOf, withReceiver } from './harness.ts';

test.each(vectors.vectors.map((vector) => [vector.name, vector] as const))(
  'signs as OpenSSL does: %s',
  (_, { secret, body_base64: body, signature }) => {
    expect(sign(Buffer.from(body, 'base64'), secret)).toBe(signature);
  },
);

test('a delivery has the documented method, headers, envelope and signature over its raw bytes', async () => {
  const { sandbox, receiver } = await withReceiver();
  const variant = variantOf(sandbox, 'own');
  variant.sku = 'เสื้อ-แดง';
  const change = present(
    sandbox.operations.adjust({ ...levelOf(variant), to: 77, reason: 'stock_counted' })[0],
  );
  await sandbox.network.idle();

  const delivery = present(receiver.received[0]);
  expect(receiver.received).toHaveLength(1);
  expect(delivery.method).toBe('POST');
  expect(delivery.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'service-webhook/1.0',
    'x-service-signature': createHmac('sha256', sandbox.webhookSecret).update(delivery.raw).digest('hex'),
  });
  expect(delivery.headers['x-service-signature']).toMatch(/^[0-9a-f]{64}$/);
  webhookEnvelopeSchema.parse(delivery.body);
  expect(delivery.body.event_type).toBe('stock_available_updated');
  expect(delivery.body.data.items).toEqual([
    {
      id: variant.id,
      sku: 'เสื้อ-แดง',
      old: change.old,
      new: 77,
      warehouse_id: present(variant.levels[0]).warehouseId,
      update_time: change.updateTimeMs,
      reason: 'stock_counted',
      user_id: expect.stringMatching(/^[0-9]+$/),
    },
  ]);
});

test('an order is one delivery of several items, with the order’s id and no user', async () => {
  const { sandbox, receiver } = await withReceiver();
  const products = sandbox.truth.products.filter(({ kind }) => kind === 'own').slice(0, 3);
  for (const { variants } of products) present(variants[0]).allowNegativeStock = true;
  const { orderId } = sandbox.operations.reserve(
    products.map(({ variants }) => ({ variantId: present(variants[0]).id, qty: 2 })),
  );
  await sandbox.network.idle();

  const delivery = present(receiver.received[0]);
  expect(delivery.body.data.items).toHaveLength(3);
  for (const item of delivery.body.data.items) {
    stockItemSchema.parse(item);
    expect(item).toMatchObject({ reason: 'order_reserved', order_id: orderId, new: item.old - 2 });
    expect(item).not.toHaveProperty('user_id');
  }
});

test('request ids are unique, also from a sandbox started again', async () => {
  const time = manualTime();
  const ids: string[] = [];
  for (let run = 0; run < 2; run += 1) {
    const { sandbox, receiver } = await withReceiver({ now: time.now });
    for (let i = 0; i < 20; i += 1) sandbox.operations.flip({ ...levelOf(variantOf(sandbox, 'own')), by: 1 });
    await sandbox.network.idle();
    ids.push(...receiver.received.map(({ body }) => body.request_id));
    time.advance(1_000);
  }
  expect(ids).toHaveLength(80);
  expect(new Set(ids).size).toBe(80);
});

test('a receiver that is down is a failed delivery', async () => {
  const sandbox = await sandboxFor({ webhookUrl: 'http://127.0.0.1:1/webhooks' });
  sandbox.operations.add({ ...levelOf(variantOf(sandbox, 'own')), by: 1 });
  await sandbox.network.idle();
  expect(sandbox.deliveries.counts).toMatchObject({ failed: 1, answered: 0 });
});

test('the clock offset shows in request_time and update_time', async () => {
  const time = manualTime();
  const { sandbox, receiver } = await withReceiver({ now: time.now });
  sandbox.clock.offsetMs = 90_000;
  sandbox.operations.add({ ...levelOf(variantOf(sandbox, 'own')), by: 1 });
  await sandbox.network.idle();
  expect(present(receiver.received[0]).body.request_time).toBe(time.now() + 90_000);
  expect(present(receiver.items()[0]).update_time).toBe(time.now() + 90_000);
});
