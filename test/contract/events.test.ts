import { createHmac } from 'node:crypto';
import { expect, vi } from 'vitest';
import { present } from '../shared/present.ts';
import { levelOf, variantOf } from '../sandbox/harness.ts';

import type { Item, Received } from '../sandbox/receiver.ts';
import { lamp as newLamp } from '../sandbox/harness.ts';
import { rule } from './contract.ts';
import type { Context } from './contract.ts';

const ID = /^[0-9]+$/;

const settle = async ({ webhooks }: Context): Promise<Item[]> =>
  (await webhooks()).flatMap(({ body }) => body.data.items);
const add = ({ sandbox, lamp }: Context, by = 1) => sandbox.operations.add({ ...levelOf(lamp), by });
/** One change of each usual kind, and what was sent for them. */
async function someChanges(context: Context): Promise<readonly Received[]> {
  const { id } = await context.order();
  add(context);
  context.sandbox.operations.adjust({ ...levelOf(context.lamp), to: 3, reason: 'stock_counted' });
  await context.steer('/operations', { operation: 'cancel', order_id: id });
  context.sandbox.operations.adjust({ ...levelOf(context.lamp), to: 5, reason: 'system_corrected' });
  return context.webhooks();
}
const hmac = (secret: string, raw: Uint8Array): string =>
  createHmac('sha256', secret).update(raw).digest('hex');
/** A receiver that answers nothing yet: when something has reached it. */
const arrived = ({ receiver }: Context, count: number) =>
  vi.waitFor(() => expect(receiver.received).toHaveLength(count), { timeout: 120_000, interval: 2 });

/** How each reason comes about in the store. */
type Emit = (context: Context) => unknown;
const adjusted =
  (reason: string): Emit =>
  ({ steer, lamp }) =>
    steer('/operations', { operation: 'adjust', variant_id: lamp.id, to: 4, reason });
const ofOrder =
  (reason: string): Emit =>
  async ({ steer, lamp, order }) => {
    const { id } = await order();
    await steer('/operations', { operation: 'add', variant_id: lamp.id, by: -1, reason, order_id: id });
  };
const canceled =
  (reason?: string): Emit =>
  async ({ steer, order }) => {
    const { id } = await order();
    await steer('/operations', {
      operation: 'cancel',
      order_id: id,
      ...(reason !== undefined && { reason }),
    });
  };
const rebuilt =
  (operation: 'assemble' | 'disassemble'): Emit =>
  ({ sandbox, lamp }) => {
    const bulb = newLamp(sandbox);
    const { product } = sandbox.operations.createProduct({
      kind: 'assembled',
      components: [
        { variantId: lamp.id, qty: 1 },
        { variantId: bulb.id, qty: 1 },
      ],
    });
    const target = { ...levelOf(present(product.variants[0])), units: 2 };
    sandbox.operations.assemble(target);
    if (operation === 'disassemble') sandbox.operations.disassemble(target);
  };

const REASONS: Record<string, readonly [emit: Emit, actor: 'order_id' | 'user_id' | 'none']> = {
  order_reserved: [({ order }) => order(), 'order_id'],
  order_edited: [ofOrder('order_edited'), 'order_id'],
  order_canceled: [canceled(), 'order_id'],
  order_canceled_by_system: [
    async ({ order, advance, sandbox }) => {
      await order({ expiration_time: sandbox.clock.now() + 1_000 });
      advance(1_000);
    },
    'order_id',
  ],
  available_qty_reconciled: [ofOrder('available_qty_reconciled'), 'order_id'],
  shipping_canceled: [canceled('shipping_canceled'), 'order_id'],
  variant_created: [({ steer }) => steer('/operations', { operation: 'create_product' }), 'user_id'],
  user_adjusted: [
    ({ steer, lamp }) => steer('/operations', { operation: 'adjust', variant_id: lamp.id, to: 4 }),
    'user_id',
  ],
  user_added: [
    ({ steer, lamp }) => steer('/operations', { operation: 'add', variant_id: lamp.id, by: 4 }),
    'user_id',
  ],
  user_deducted: [
    ({ steer, lamp }) => steer('/operations', { operation: 'add', variant_id: lamp.id, by: -4 }),
    'user_id',
  ],
  user_set: [({ sandbox, lamp }) => sandbox.operations.flip({ ...levelOf(lamp), by: 1 }), 'user_id'],
  ...Object.fromEntries(
    ['returned', 'purchased', 'deposited', 'damaged', 'lost', 'withdrawn', 'stock_counted'].map(
      (reason) => [reason, [adjusted(reason), 'user_id']] as const,
    ),
  ),
  ...Object.fromEntries(
    [
      ...['system_init', 'admin_edited', 'system_corrected', 'command_edited', 'fullfilment_updated'],
      ...['bundle_converted', 'bundle_edited', 'unknown'],
    ].map((reason) => [reason, [adjusted(reason), 'none']] as const),
  ),
  assemble_added: [rebuilt('assemble'), 'none'],
  assemble_deducted: [rebuilt('assemble'), 'none'],
  disassemble_added: [rebuilt('disassemble'), 'none'],
  disassemble_deducted: [rebuilt('disassemble'), 'none'],
};

rule('events.config.url', 'whatever the switch says', async (context) => {
  const { steer, receiver, sandbox } = context;
  for (const on of [true, false]) {
    await steer('/settings', { webhook_url: '', events: { stock_available_updated: on } });
    add(context);
  }
  await sandbox.network.idle();
  expect(sandbox.deliveries.counts).toMatchObject({ pending: 0, lost: 0, failed: 0 });
  expect(receiver.received).toEqual([]);
  await steer('/settings', { webhook_url: receiver.url, events: { stock_available_updated: true } });
  add(context);
  // What happened meanwhile is not made up for.
  expect(await settle(context)).toMatchObject([{ old: 12, new: 13 }]);
});

rule('events.config.switch', 'and on again, it goes to the same URL', async (context) => {
  const { steer, receiver, sandbox } = context;
  const off = await steer('/settings', { events: { stock_available_updated: false } });
  expect(off).toMatchObject({ webhook_url: receiver.url, events: { stock_available_updated: false } });
  add(context);
  await sandbox.network.idle();
  expect(receiver.received).toEqual([]);
  const on = await steer('/settings', { events: { stock_available_updated: true } });
  expect(on).toMatchObject({ webhook_url: receiver.url });
  add(context);
  expect(await settle(context)).toMatchObject([{ old: 11, new: 12 }]);
});

rule('events.request', 'method and headers of each delivery', async (context) => {
  for (const { method, headers } of await someChanges(context)) {
    expect(method).toBe('POST');
    expect(headers).toMatchObject({
      ...{ 'content-type': 'application/json', 'user-agent': 'service-webhook/1.0' },
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
  'these four',
  async (context) => {
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

rule('events.items', 'of one order, and of a moment', async (context) => {
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
  'as it was, and as the API then shows it',
  async (context) => {
    context.advance(5_000);
    const variant = variantOf(context.sandbox, 'own', 2);
    variant.sku = 'เสื้อ-แดง';
    const level = present(variant.levels[1]);
    const old = level.onHand - level.reserved;
    context.sandbox.operations.adjust({
      ...{ variantId: variant.id, warehouseId: level.warehouseId, to: old + 5, reason: 'purchased' },
    });
    const changedAtMs = context.sandbox.clock.now();
    context.advance(1);
    expect(await settle(context)).toEqual([
      {
        ...{ id: variant.id, sku: 'เสื้อ-แดง', old, new: old + 5, warehouse_id: level.warehouseId },
        ...{ update_time: changedAtMs, reason: 'purchased', user_id: expect.stringMatching(ID) },
      },
    ]);
  },
);

rule('events.signature.1', 'over the bytes as they came', async (context) => {
  context.lamp.sku = 'โคมไฟ 💡';
  for (const { headers, raw } of await someChanges(context)) {
    expect(headers['x-service-signature']).toBe(hmac('sandbox-webhook-secret', raw));
  }
  context.sandbox.network.webhookSecret = 'another';
  add(context);
  const last = present((await context.webhooks()).at(-1));
  expect(last.headers['x-service-signature']).toBe(hmac('another', last.raw));
});

rule(['events.delivery.1', 'limits.acknowledgement'], 'to the millisecond', async (context) => {
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
});

rule(['events.delivery.2', 'limits.acknowledgement'], 'whatever happened to it', async (context) => {
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

rule('events.delivery.3', 'the later change first', async (context) => {
  const { sandbox } = context;
  let seen = 0;
  sandbox.network.intercept = () => ((seen += 1) === 1 ? { delayMs: 20 } : 'send');
  add(context);
  context.advance(10);
  add(context);
  await vi.waitFor(() => expect(context.receiver.received).toHaveLength(1), 120_000);
  context.advance(10);
  const items = await settle(context);
  expect(items).toMatchObject([{ new: 12 }, { new: 11 }]);
  expect(present(items[0]).update_time - present(items[1]).update_time).toBe(10);
});

rule('events.delivery.4', 'after a loss', async (context) => {
  const { sandbox, raw, lamp, steer } = context;
  await steer('/lose-next', { count: 1 });
  add(context, 5);
  expect(await context.webhooks()).toEqual([]);
  expect(sandbox.deliveries.counts.lost).toBe(1);
  const { body } = await raw.post('/v1/product/detail', { product_id: lamp.product.id });
  expect(body['product']).toMatchObject({ variants: [{ available_qty: 15 }] });
});

for (const [reason, [emit, actor]] of Object.entries(REASONS)) {
  rule(`events.reason.${reason}`, actor, async (context) => {
    await emit(context);
    const items = (await settle(context)).filter((item) => item.reason === reason);
    expect(items.length).toBeGreaterThan(0);
    for (const item of items) {
      const { order_id: order, user_id: user } = item;
      expect(order).toEqual(actor === 'order_id' ? expect.stringMatching(ID) : undefined);
      expect(user).toEqual(actor === 'user_id' ? expect.stringMatching(ID) : undefined);
    }
  });
}
