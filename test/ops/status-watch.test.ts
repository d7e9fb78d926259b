/** On a large mirror counting takes long: pages show the counts of a moment ago, and everything else as it is now. */
import { expect, test } from 'vitest';
import { StatusWatch } from '../../src/ops/page/status-watch.ts';
import type { StoreReader } from '../../src/store/store.ts';
import { eventually } from '../process/wait.ts';
import { newStore } from '../reconcile/mirror.ts';

/** Counts only when the test lets it. */
function heldReader() {
  const store = newStore();
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const reader: StoreReader = {
    ask: async (name, ...args) => {
      asked.push(name);
      if (name === 'status') await new Promise<void>((resolve) => waiting.push(resolve));
      return store.reader.ask(name, ...args);
    },
  };
  return { store, reader, waiting, asked };
}

const addProduct = (id: string) =>
  `INSERT INTO products (product_id, read_seq, read_at_ms, has_bundle) VALUES ('${id}', 0, 1, 0)`;

test('only the first who looks waits for a long count, and one count runs at a time', async () => {
  const { store, reader, waiting, asked } = heldReader();
  const watch = new StatusWatch(reader);
  const both = Promise.all([watch.status(), watch.status()]);
  await eventually(() => waiting.length === 1, { what: 'the first count' });
  const startedMs = performance.now();
  await eventually(() => performance.now() - startedMs > 40, { what: 'it takes long' });
  waiting.shift()!();
  expect((await both).map(({ products }) => products)).toEqual([0, 0]);

  store.change(addProduct('1'));
  store.change('UPDATE mirror_state SET change_seq = 7');
  // Now they answer at once, of the feed as it is and of the products as they were.
  expect(await watch.status()).toMatchObject({ products: 0, last_seq: 7 });
  await eventually(
    async () => {
      await watch.status();
      return waiting.length === 1;
    },
    { what: 'the next count is begun, and nobody waits for it' },
  );
  await watch.status();
  expect(asked.filter((name) => name === 'status')).toHaveLength(2);
  waiting.shift()!();
  await eventually(async () => (await watch.status()).products === 1, { what: 'the new count' });
});

test('a quick count is of now', async () => {
  const store = newStore();
  const watch = new StatusWatch(store.reader);
  for (const id of ['1', '2']) {
    store.change(addProduct(id));
    await eventually(async () => (await watch.status()).products === Number(id), { what: `product ${id}` });
  }
});

test('a count that fails is told, and tried again', async () => {
  const store = newStore();
  let isBroken = true;
  const watch = new StatusWatch({
    ask: (name, ...args) =>
      isBroken ? Promise.reject(new Error('the disk is gone')) : store.reader.ask(name, ...args),
  });
  await expect(watch.status()).rejects.toThrow('the disk is gone');
  isBroken = false;
  expect((await watch.status()).products).toBe(0);
});
