/** One sampler for all who show the state: of now while that is cheap, and never more than its share of the reader. */
import { expect, test } from 'vitest';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import type { StoreReader } from '../../src/mirror/mirror.ts';
import { present } from '../shared/present.ts';
import { eventually } from '../process/wait.ts';
import { log, newStore, type OpenedStore } from '../reconcile/mirror.ts';

/** A reader that counts only when the test lets it, and says that it took as long as the test wants. */
function heldReader(store: OpenedStore, tookMs: number) {
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const reader = {
    ask: async (name: string) => {
      asked.push(name);
      if (name !== 'stateSample') return store.reader.ask('glance');
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { ...(await store.reader.ask('stateSample')), tookMs };
    },
  } as StoreReader;
  return { reader, waiting, asked, samples: () => asked.filter((name) => name === 'stateSample').length };
}

function addProduct(store: ReturnType<typeof newStore>, id: string): void {
  store.change(
    `INSERT INTO products (product_id, read_seq, read_at_ms, has_bundle) VALUES ('${id}', 0, 1, 0)`,
  );
  store.change('UPDATE live_counts SET products = products + 1');
}

test('what is quick to say is of now: who asks sees all that was there before', async () => {
  const store = newStore();
  const sampler = new StateSampler({ reader: store.reader, now: Date.now, log });
  for (let n = 1; n <= 5; n += 1) {
    const before = sampler.status();
    addProduct(store, String(n));
    expect((await sampler.status()).products).toBe(n);
    await before;
  }
});

test('however many ask at once, one question waits behind the one under way', async () => {
  const store = newStore();
  const { reader, waiting, samples } = heldReader(store, 1);
  const sampler = new StateSampler({ reader, now: Date.now, log });
  const asking = Array.from({ length: 20 }, () => sampler.status());
  addProduct(store, '1');
  await eventually(() => waiting.length === 1, { what: 'the first question' });
  present(waiting.shift())();
  await eventually(() => waiting.length === 1, { what: 'the second one' });
  present(waiting.shift())();
  const [, ...late] = await Promise.all(asking);
  expect(new Set(late.map(({ products }) => products))).toEqual(new Set([1]));
  expect(samples()).toBe(2);
});

test('a question that fails is told to who asked, and asked again', async () => {
  const store = newStore();
  let isBroken = true;
  const sampler = new StateSampler({
    reader: {
      ask: (name, ...args) =>
        isBroken ? Promise.reject(new Error('the disk is gone')) : store.reader.ask(name, ...args),
    },
    now: Date.now,
    log,
  });
  await expect(sampler.status()).rejects.toThrow('the disk is gone');
  isBroken = false;
  expect((await sampler.status()).products).toBe(0);
});
