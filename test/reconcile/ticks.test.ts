import { expect, test, vi } from 'vitest';
import { Ticks } from '../../src/reconcile/ticks.ts';
import { newStore, productIds } from './mirror.ts';

const MINUTE = 60_000;

async function setUp(products: number) {
  const store = newStore();
  const time = { nowMs: Date.now() };
  const ids = productIds(products);
  await store.writer.append({ kind: 'listed', atMs: time.nowMs, productIds: ids, lookup: false });
  const ticks = new Ticks({ store, now: () => time.nowMs });
  const requested = async (tick: () => Promise<void>): Promise<number> => {
    store.change('DELETE FROM read_requests');
    await tick();
    return store.rows('SELECT 1 FROM read_requests').length;
  };
  const run = () => requested(() => ticks.run());
  const afterLoss = () => requested(() => ticks.runAfterLoss());
  return { store, time, ticks, run, afterLoss };
}

test.each([
  [0, 0],
  [7, 7],
  [100, 10],
  [2_000, 35],
])('a tick of %i products reads %i', async (products, reads) => {
  const { run, afterLoss } = await setUp(products);
  expect([await run(), await afterLoss()]).toEqual([reads, 0]);
});

test('reads six ticks at once after a loss, at most every five minutes, and halves the next ticks', async () => {
  const { store, time, ticks, run, afterLoss } = await setUp(2_000);
  ticks.noteLoss();
  ticks.noteLoss();
  vi.spyOn(store.writer, 'append').mockRejectedValueOnce(new Error('away'));
  await expect(afterLoss()).rejects.toThrow('away');
  expect([await afterLoss(), await afterLoss()]).toEqual([210, 0]);
  ticks.noteLoss();
  time.nowMs += 5 * MINUTE - 1;
  expect(await afterLoss()).toBe(0);
  time.nowMs += 1;
  expect(await afterLoss()).toBe(210);
  const paid = [];
  for (let i = 0; i < 14; i += 1) paid.push(await run());
  expect(paid).toEqual([...Array<number>(12).fill(18), 29, 35]);
});
