import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { levelOf, reply, sandboxFor, steer, variantOf, withReceiver } from './harness.ts';

const get = async (sandbox: Sandbox, path: string) => reply(await fetch(`${sandbox.baseUrl}/sandbox${path}`));

test('POST /sandbox/operations changes the truth and sends webhooks', async () => {
  const { sandbox, receiver } = await withReceiver();
  const variant = variantOf(sandbox, 'own');
  const { variantId, warehouseId } = levelOf(variant);
  const target = { variant_id: variantId, warehouse_id: warehouseId };
  const adjusted = await steer(sandbox, '/operations', { operation: 'adjust', ...target, to: 42 });
  expect(adjusted).toMatchObject({
    status: 200,
    body: { changes: [{ id: variantId, new: 42, reason: 'user_adjusted' }] },
  });
  const reserved = await steer(sandbox, '/operations', {
    operation: 'reserve',
    lines: [{ ...target, qty: 2 }],
  });
  const { order_id: orderId } = reserved.body;
  expect(reserved.body['changes']).toMatchObject([{ old: 42, new: 40, order_id: orderId }]);
  await steer(sandbox, '/operations', { operation: 'cancel', order_id: orderId });
  await sandbox.network.idle();
  expect(
    receiver
      .items()
      .map((item) => item.new)
      .sort(),
  ).toEqual([40, 42, 42]);

  const made = await steer(sandbox, '/operations', { operation: 'create_product', name: 'New' });
  const productId = made.body['product_id'] as string;
  expect(sandbox.truth.product(productId)?.name).toBe('New');
  await steer(sandbox, '/operations', { operation: 'rename_product', product_id: productId, name: 'Newer' });
  expect(sandbox.truth.product(productId)?.name).toBe('Newer');
  await steer(sandbox, '/operations', { operation: 'delete_product', product_id: productId });
  expect(sandbox.truth.product(productId)).toBeUndefined();
});

test.each([
  [{ operation: 'explode' }, 'operation: must be one of reserve, cancel'],
  [{ operation: 'explode' }, 'place_order'],
  [{}, 'operation: must be one of'],
  [{ operation: 'adjust', variant_id: 5, to: 1 }, 'variant_id'],
  [{ operation: 'adjust', variant_id: '5' }, 'to'],
  [{ operation: 'adjust', variant_id: '5', to: 1 }, 'no live variant 5'],
  [{ operation: 'ship', order_id: '5' }, 'no open order 5'],
  [{ operation: 'ship', order_id: '5', extra: 1 }, 'extra'],
])('POST /sandbox/operations refuses %j', async (body, message) => {
  const answer = await steer(await sandboxFor(), '/operations', body);
  expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  expect(answer.body['error_description']).toContain(message);
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
