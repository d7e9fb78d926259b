import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { levelOf, manualTime, reply, sandboxFor, steer, variantOf, withReceiver } from './harness.ts';

const get = async (sandbox: Sandbox, path: string) => reply(await fetch(`${sandbox.baseUrl}/sandbox${path}`));

test('changes stock, and sends webhooks', async () => {
  const { sandbox, receiver } = await withReceiver();
  const { variantId, warehouseId } = levelOf(variantOf(sandbox, 'own'));
  const level = { variant_id: variantId, warehouse_id: warehouseId };
  const set = await steer(sandbox, '/stock', { ...level, set: 42 });
  expect(set).toMatchObject({
    status: 200,
    body: { changes: [{ id: variantId, new: 42, reason: 'user_adjusted' }] },
  });
  const added = await steer(sandbox, '/stock', { ...level, add: -2 });
  expect(added.body['changes']).toMatchObject([{ old: 42, new: 40, reason: 'user_deducted' }]);
  const { orderId } = sandbox.operations.reserve([{ variantId, warehouseId, qty: 5 }]);
  const cancelled = await steer(sandbox, '/cancel', { order_id: orderId });
  expect(cancelled.body['changes']).toMatchObject([{ old: 35, new: 40, order_id: orderId }]);
  await sandbox.network.idle();
  expect(receiver.items().map((item) => item.new)).toEqual(expect.arrayContaining([42, 40, 35]));
});

test.each([
  ['/stock', { variant_id: 5, set: 1 }, 'variant_id'],
  ['/stock', { variant_id: '5' }, 'either set or add is required'],
  ['/stock', { variant_id: '5', set: 1, add: 1 }, 'either set or add is required'],
  ['/stock', { variant_id: '5', set: 1 }, 'no live variant 5'],
  ['/products', { delete: 13 }, 'there are only 12 such products'],
  ['/products', { restore: 1 }, 'there are only 0 such products'],
  ['/products', { delete: 1, restore: 1 }, 'either delete or restore is required'],
  ['/products', { delete: 0 }, 'delete'],
  ['/pay', { order_id: '5' }, 'no order 5'],
  ['/cancel', { order_id: '5' }, 'no open order 5'],
  ['/cancel', { order_id: '5', extra: 1 }, 'extra'],
])('POST /sandbox%s refuses %j', async (path, body, message) => {
  const answer = await steer(await sandboxFor(), path, body);
  expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  expect(answer.body['error_description']).toContain(message);
});

test('deletes and restores products by number and by id', async () => {
  const sandbox = await sandboxFor();
  const ids = sandbox.truth.products.map(({ id }) => id);
  const gone = () => sandbox.truth.products.filter(({ deleted }) => deleted).map(({ id }) => id);
  const [first = '', second = ''] = ids;
  expect((await steer(sandbox, '/products', { delete: 3 })).body).toEqual({ product_ids: ids.slice(-3) });
  expect(gone()).toEqual(ids.slice(-3));
  expect((await steer(sandbox, '/products', { delete: [first] })).status).toBe(200);
  expect(gone()).toEqual([first, ...ids.slice(-3)]);
  const refused = await steer(sandbox, '/products', { delete: [second, first] });
  expect(refused).toMatchObject({
    status: 400,
    body: { error_description: `there is no such product ${first}` },
  });
  expect(gone()).toEqual([first, ...ids.slice(-3)]);
  expect((await steer(sandbox, '/products', { restore: [first] })).status).toBe(200);
  await steer(sandbox, '/products', { restore: 3 });
  expect(gone()).toEqual([]);
});

test('POST /sandbox/faults sets the given fields and keeps the rest', async () => {
  const sandbox = await sandboxFor();
  const { body } = await steer(sandbox, '/faults', {
    loss: 0.1,
    delay_ms: { min: 50, max: 50 },
    latency_ms: { min: 1, max: 2 },
    stale: { probability: 0.5 },
    slow: { probability: 0.2, ms: 700 },
    fail: { server_error: 0.3, reset: 0.4 },
    clock_offset_ms: -250,
  });
  expect(sandbox.network).toMatchObject({ loss: 0.1, delayMs: { min: 50, max: 50 } });
  expect(sandbox.reads).toMatchObject({
    latencyMs: { min: 1, max: 2 },
    stale: { probability: 0.5, ageMs: 2_000 },
    slow: { probability: 0.2, ms: 700 },
    fail: { serverError: 0.3, reset: 0.4, slowDown: 0 },
  });
  expect(sandbox.clock.offsetMs).toBe(-250);
  const more = await steer(sandbox, '/faults', { reorder: 0.2, duplicate: 0.3, batch_ms: 5 });
  expect(more.body).toEqual({ ...body, reorder: 0.2, duplicate: 0.3, batch_ms: 5 });
  expect((await get(sandbox, '/faults')).body).toEqual(more.body);
});

test.each([
  [{ loss: 2 }, 'loss'],
  [{ lost: 1 }, 'lost'],
  [{ delay_ms: { min: 5, max: 1 } }, 'delay_ms'],
  [{ fail: { server_error: 'x' } }, 'fail.server_error'],
])('POST /sandbox/faults refuses %j and changes nothing', async (body, field) => {
  const sandbox = await sandboxFor();
  const before = (await get(sandbox, '/faults')).body;
  const answer = await steer(sandbox, '/faults', body);
  expect(answer.status).toBe(400);
  expect(answer.body['error_description']).toContain(field);
  expect((await get(sandbox, '/faults')).body).toEqual(before);
});

test('refuses a body not declared as JSON, as a foreign page could post it', async () => {
  const sandbox = await sandboxFor();
  const response = await fetch(`${sandbox.baseUrl}/sandbox/traffic`, { method: 'POST', body: '{"rate":5}' });
  expect(response.status).toBe(400);
  expect(sandbox.traffic.rate).toBe(0);
});

test('loses a webhook, and shows the loss by the next one of the same level', async () => {
  const time = manualTime();
  const { sandbox, receiver } = await withReceiver(time);
  const { body } = await steer(sandbox, '/lose-webhook', {});
  const lost = body['lost'] as { id: string; new: number };
  expect(sandbox.deliveries.counts.lost).toBe(1);
  time.advance(1_000);
  await sandbox.network.idle();
  expect(receiver.items()).toMatchObject([{ id: lost.id, old: lost.new, new: lost.new + 1 }]);
  sandbox.webhookUrl = null;
  expect((await steer(sandbox, '/lose-webhook', {})).status).toBe(400);
});
