import { expect, test } from 'vitest';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { log, newDatabases } from '../reconcile/mirror.ts';
import { quick } from './watched.ts';

function addProduct(databases: ReturnType<typeof newDatabases>, id: string): void {
  databases.change(`INSERT INTO products (product_id, read_at_ms, has_bundle) VALUES ('${id}', 1, 0)`);
}

test('counts at each request while counting is quick', async () => {
  const databases = newDatabases();
  const sampler = new StateSampler({ reader: quick(databases.mirror), now: Date.now, log });
  for (let n = 1; n <= 5; n += 1) {
    const before = sampler.status();
    addProduct(databases, String(n));
    expect((await sampler.status()).products).toBe(n);
    await before;
  }
});

test('reports a failed query to its caller and retries', async () => {
  const databases = newDatabases();
  let isBroken = true;
  const sampler = new StateSampler({
    reader: {
      ask: (name, ...args) =>
        isBroken ? Promise.reject(new Error('the disk is gone')) : databases.mirror.ask(name, ...args),
    },
    now: Date.now,
    log,
  });
  await expect(sampler.status()).rejects.toThrow('the disk is gone');
  isBroken = false;
  expect((await sampler.status()).products).toBe(0);
});
