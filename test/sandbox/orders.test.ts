/** Orders: time, idempotency and stock. */
import { expect, test } from 'vitest';
import { systemTimers } from '../../src/sandbox/world/clock.ts';
import { contextFor } from '../contract/contract.ts';
import { expectRefused } from '../contract/raw.ts';
import { present } from '../shared/present.ts';

const HOUR_MS = 3_600_000;
const CREATE = '/v1/order/create';

test.each(['open', 'shipped', 'canceled'] as const)(
  'does not expire an order that is paid, shipped or cancelled: %s',
  async (state) => {
    const { order, lamp, sandbox, advance } = await contextFor();
    const id = (await order({ expiration_time: sandbox.clock.now() + HOUR_MS }))['id'] as string;
    if (state === 'open') sandbox.orderDesk.pay(id);
    else if (state === 'shipped') sandbox.operations.ship(id);
    else sandbox.operations.cancel(id);
    const levels = structuredClone(lamp.levels);
    advance(HOUR_MS);
    expect(sandbox.operations.orders.find(id)?.state).toBe(state);
    expect(lamp.levels).toEqual(levels);
  },
);

test('expires unpaid orders in the order of their times', async () => {
  const { order, sandbox, advance } = await contextFor();
  const startMs = sandbox.clock.now();
  const hours = [2, 1, 4, 3, 2];
  const ids: unknown[] = [];
  for (const hour of hours) ids.push((await order({ expiration_time: startMs + hour * HOUR_MS }))['id']);
  advance(3 * HOUR_MS);
  const expired = sandbox.deliveries.records
    .flatMap(({ delivery }) => delivery.items)
    .filter((item) => item.reason === 'order_canceled_by_system');
  expect(expired).toMatchObject(
    [1, 0, 4, 3].map((n) => ({ order_id: ids[n], update_time: startMs + present(hours[n]) * HOUR_MS })),
  );
});

test('refuses an order beyond the stock and names the line', async () => {
  const { raw, body, lamp, sandbox } = await contextFor();
  const lines = [
    { sku: 'LAMP-1', qty: 6 },
    { product_variant_id: lamp.id, qty: 5 },
  ];
  expectRefused(await raw.post(CREATE, body({ products: lines })), 'products[1].qty:');
  const components = [{ variantId: lamp.id, qty: 4 }];
  const set = present(sandbox.operations.createProduct({ kind: 'bundle', components }).product.variants[0]);
  const of = (qty: number) => body({ products: [{ product_variant_id: set.id, qty }] });
  expectRefused(await raw.post(CREATE, of(3)), 'products[0].qty:');
  expect(lamp.levels).toMatchObject([{ onHand: 10, reserved: 0 }]);
  expect((await raw.post(CREATE, of(2))).status).toBe(200);
  expect(lamp.levels).toMatchObject([{ onHand: 10, reserved: 8 }]);
});

test('makes one order of simultaneous requests with one external_order_id', async () => {
  const { order, lamp, sandbox } = await contextFor({ timers: systemTimers });
  sandbox.reads.latencyMs = { min: 1, max: 20 };
  const orders = await Promise.all([1, 2, 3, 4].map(() => order({ external_order_id: 'A-1' })));
  expect(new Set(orders.map(({ id }) => id)).size).toBe(1);
  expect(lamp.levels).toMatchObject([{ reserved: 1 }]);
});
