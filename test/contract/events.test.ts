import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { eventually } from '../process/wait.ts';
import { present } from '../shared/present.ts';
import { levelOf, variantOf, lamp as newLamp } from '../sandbox/harness.ts';
import type { Item, Received } from '../sandbox/receiver.ts';
import { rule, type Context } from './contract.ts';

const ID = /^[0-9]+$/;

const settle = async ({ webhooks }: Context): Promise<Item[]> =>
  (await webhooks()).flatMap(({ body }) => body.data.items);
const add = ({ sandbox, lamp }: Context, by = 1) => sandbox.operations.add({ ...levelOf(lamp), by });
/** Makes one change of each usual kind. @returns the deliveries. */
async function someChanges(context: Context): Promise<readonly Received[]> {
  const { id } = await context.order();
  add(context);
  context.sandbox.operations.adjust({ ...levelOf(context.lamp), to: 3, reason: 'stock_counted' });
  await context.steer('/cancel', { order_id: id });
  context.sandbox.operations.adjust({ ...levelOf(context.lamp), to: 5, reason: 'system_corrected' });
  return context.webhooks();
}
const hmac = (secret: string, raw: Uint8Array): string =>
  createHmac('sha256', secret).update(raw).digest('hex');
/** Waits for deliveries that get no answer yet. */
const arrived = ({ receiver }: Context, count: number) =>
  eventually(() => receiver.received.length === count, { what: `${count} deliveries` });

rule('events.config.url', 'sends nothing while the URL is empty', async (context) => {
  const { steer, receiver, sandbox } = context;
  expect(await steer('/settings', { webhook_url: '' })).toMatchObject({ webhook_url: '' });
  add(context);
  await sandbox.network.idle();
  expect(receiver.received).toEqual([]);
  await steer('/settings', { webhook_url: receiver.url });
  add(context);
  expect(await settle(context)).toMatchObject([{ old: 11, new: 12 }]);
});

rule('events.request', 'sends method and headers', async (context) => {
  for (const { method, headers } of await someChanges(context)) {
    expect(method).toBe('POST');
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'service-webhook/1.0',
      'x-service-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  }
  expect(context.receiver.received).toHaveLength(5);
});

rule(
  [
    'events.envelope.request_id',
    'events.envelope.event_type',
    'events.envelope.request_time',
    'events.envelope.data',
  ],
  'sends exactly these fields',
  async (context) => {
    context.sandbox.clock.offsetMs = 90_000;
    const received = await someChanges(context);
    for (const { body } of received) {
      expect(body).toEqual({
        request_id: expect.stringMatching(/./),
        event_type: 'stock_available_updated',
        request_time: context.sandbox.clock.now(),
        data: { items: expect.any(Array) },
      });
    }
    expect(new Set(received.map(({ body }) => body.request_id)).size).toBe(5);
  },
);

rule('events.items', 'batches the items of one order or moment', async (context) => {
  const bulb = newLamp(context.sandbox, { sku: 'BULB-1' });
  await context.webhooks();
  context.receiver.received.length = 0;
  await context.order({
    products: [
      { sku: 'LAMP-1', qty: 1 },
      { sku: 'BULB-1', qty: 2 },
    ],
  });
  context.sandbox.network.batchMs = 50;
  add(context);
  context.sandbox.operations.add({ ...levelOf(bulb), by: 1 });
  context.advance(50);
  const items = (await context.webhooks()).map(({ body }) => body.data.items.map(({ id }) => id));
  expect(items).toEqual([
    [context.lamp.id, bulb.id],
    [context.lamp.id, bulb.id],
  ]);
});

rule(
  [
    ...(['events.item.id', 'events.item.sku', 'events.item.old', 'events.item.new'] as const),
    ...(['events.item.warehouse_id', 'events.item.update_time', 'events.item.reason'] as const),
  ],
  'sends each field of an item',
  async (context) => {
    context.advance(5_000);
    context.sandbox.clock.offsetMs = 90_000;
    const variant = variantOf(context.sandbox, 'own', 2);
    variant.sku = 'เสื้อ-แดง';
    const level = present(variant.levels[1]);
    const old = level.onHand - level.reserved;
    context.sandbox.operations.adjust({
      variantId: variant.id,
      warehouseId: level.warehouseId,
      to: old + 5,
      reason: 'purchased',
    });
    const changedAtMs = context.sandbox.clock.now();
    context.advance(1);
    expect(await settle(context)).toEqual([
      {
        id: variant.id,
        sku: 'เสื้อ-แดง',
        old,
        new: old + 5,
        warehouse_id: level.warehouseId,
        update_time: changedAtMs,
        reason: 'purchased',
        user_id: expect.stringMatching(ID),
      },
    ]);
  },
);

rule('events.signature.1', 'signs the bytes sent', async (context) => {
  context.lamp.sku = 'โคมไฟ 💡';
  for (const { headers, raw } of await someChanges(context)) {
    expect(headers['x-service-signature']).toBe(hmac('sandbox-webhook-secret', raw));
  }
  context.sandbox.network.webhookSecret = 'another';
  add(context);
  const last = present((await context.webhooks()).at(-1));
  expect(last.headers['x-service-signature']).toBe(hmac('another', last.raw));
});

rule(
  ['events.delivery.1', 'limits.acknowledgement'],
  'counts any 2xx within a second as an acknowledgement',
  async (context) => {
    const { receiver, sandbox } = context;
    for (const status of [200, 201, 202, 204, 299]) {
      receiver.answer = status;
      add(context);
      await context.webhooks();
      expect(sandbox.deliveries.records.at(-1)).toMatchObject({ outcome: 'answered', status });
    }
    receiver.answer = 'never';
    receiver.received.length = 0;
    add(context);
    await arrived(context, 1);
    context.advance(999);
    expect(sandbox.deliveries.records.at(-1)).toMatchObject({ outcome: 'pending' });
    context.advance(1);
    await context.webhooks();
    expect(sandbox.deliveries.records.at(-1)).toMatchObject({ outcome: 'timeout', status: null });
  },
);

rule(['events.delivery.2', 'limits.acknowledgement'], 'never sends a delivery again', async (context) => {
  const { receiver, sandbox } = context;
  const answers = [500, 503, 302, 401, 410, 429] as const;
  for (const status of answers) {
    receiver.answer = status;
    add(context);
    await context.webhooks();
  }
  receiver.answer = 'never';
  add(context);
  await arrived(context, answers.length + 1);
  context.advance(1_000);
  await sandbox.network.idle();
  receiver.answer = 204;
  context.advance(24 * 3_600_000);
  await sandbox.network.flush();
  expect(await context.webhooks()).toHaveLength(answers.length + 1);
  const ids = receiver.received.map(({ body }) => body.request_id);
  expect(new Set(ids).size).toBe(ids.length);
});

rule('events.delivery.3', 'may deliver a later change first', async (context) => {
  const { sandbox } = context;
  let seen = 0;
  sandbox.network.intercept = () => ((seen += 1) === 1 ? { delayMs: 20 } : 'send');
  add(context);
  context.advance(10);
  add(context);
  await arrived(context, 1);
  context.advance(10);
  const items = await settle(context);
  expect(items).toMatchObject([{ new: 12 }, { new: 11 }]);
  expect(present(items[0]).update_time - present(items[1]).update_time).toBe(10);
});

rule('events.delivery.4', 'shows the change of a lost delivery in the API', async (context) => {
  const { sandbox, raw, lamp } = context;
  sandbox.network.loseNext(1);
  add(context, 5);
  expect(await context.webhooks()).toEqual([]);
  expect(sandbox.deliveries.counts.lost).toBe(1);
  const { body } = await raw.post('/v1/product/detail', { product_id: lamp.product.id });
  expect(body['product']).toMatchObject({ variants: [{ available_qty: 15 }] });
  add(context);
  expect(await settle(context)).toMatchObject([{ old: 15, new: 16 }]);
});

rule(
  ['events.reason', 'events.item.order_id', 'events.item.user_id'],
  'name who made the change',
  async (context) => {
    await context.order({ expiration_time: context.sandbox.clock.now() + 1_000 });
    context.advance(1_000);
    await someChanges(context);
    const actors = (await settle(context)).map(({ reason, order_id: order, user_id: user }) => [
      reason,
      order !== undefined && ID.test(order) ? 'order' : user !== undefined && ID.test(user) ? 'user' : 'none',
    ]);
    expect(Object.fromEntries(actors)).toEqual({
      order_reserved: 'order',
      order_canceled_by_system: 'order',
      user_added: 'user',
      stock_counted: 'user',
      order_canceled: 'order',
      system_corrected: 'none',
    });
  },
);
