import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { SentItem } from '../../src/sandbox/network/webhooks.ts';
import { manualTime, sandboxFor } from './harness.ts';

/** All items in order; none is sent. */
function itemsOf(sandbox: Sandbox): SentItem[] {
  return sandbox.deliveries.records.flatMap(({ delivery }) => delivery.items);
}

async function replay(seed: number) {
  const time = manualTime();
  const sandbox = await sandboxFor({ seed, products: 40, now: time.now, webhookUrl: 'http://127.0.0.1:1/' });
  sandbox.network.loss = 1;
  const catalogue = structuredClone(sandbox.truth.snapshot());
  for (let i = 0; i < 500; i += 1) {
    sandbox.traffic.step();
    time.advance(7);
  }
  return { sandbox, catalogue, items: itemsOf(sandbox), truth: sandbox.truth.snapshot() };
}

test('chains the changes of each stock level', async () => {
  const { items, catalogue, truth } = await replay(11);
  expect(items.length).toBeGreaterThan(500);
  const key = (variantId: string, warehouseId: string) => `${variantId} ${warehouseId}`;
  const held = new Map(
    catalogue.levels.map((level) => [key(level.variantId, level.warehouseId), level.availableQty]),
  );
  const lastTimes = new Map<string, number>();
  for (const item of items) {
    const at = key(item.id, item.warehouse_id);
    expect(item.old).toBe(held.get(at) ?? 0);
    expect(item.update_time).toBeGreaterThanOrEqual(lastTimes.get(at) ?? 0);
    held.set(at, item.new);
    lastTimes.set(at, item.update_time);
  }
  for (const level of truth.levels) {
    expect(held.get(key(level.variantId, level.warehouseId))).toBe(level.availableQty);
  }
});

test.each([[3], [500]])('runs at about %i changes per second until stopped', async (rate) => {
  const time = manualTime();
  const sandbox = await sandboxFor({
    products: 100,
    now: time.now,
    timers: time.timers,
    webhookUrl: 'http://127.0.0.1:1/',
  });
  sandbox.network.loss = 1;
  sandbox.network.batchMs = 0;
  let items = 0;
  sandbox.deliveries.onSettled(({ delivery }) => {
    items += delivery.items.length;
  });
  sandbox.traffic.start(rate);
  expect(sandbox.traffic.rate).toBe(rate);
  time.advance(10_000);
  expect(items).toBeGreaterThan(rate * 9);
  expect(items).toBeLessThan(rate * 10 + 20);
  sandbox.traffic.start(0);
  const before = items;
  time.advance(10_000);
  expect([sandbox.traffic.rate, items]).toEqual([0, before]);
});
