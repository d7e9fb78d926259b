import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import {
  compareWithTruth,
  eventually,
  rows,
  startMirror,
  startService,
  statusOf,
  untilEqual,
  untilLive,
  untilQuiet,
  untilRunEnds,
} from '../harness.ts';

test.concurrent(
  'a first start reads the whole catalogue, and is live when the mirror equals the service',
  async (t) => {
    const sandbox = await startService(t, { products: 120 });
    const mirror = await startMirror(t, sandbox);
    expect(statusOf(mirror.databasePath).state).toBe('catching_up');
    expect(await mirror.get('/readyz')).toEqual({ status: 503, body: { state: 'catching_up' } });

    await untilLive(mirror);
    expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
    await untilQuiet(mirror, sandbox);
    expect(statusOf(mirror.databasePath)).toMatchObject({ suspect_count: 0, open_gaps: 0 });
    expect(await mirror.get('/readyz')).toEqual({ status: 200, body: { state: 'live' } });

    const { body } = await mirror.get('/api/runs');
    expect(body).toMatchObject({
      runs: [{ kind: 'initial', state: 'done', done: 120, total: 120, failed: 0 }],
    });
    expect(sandbox.requests['/oauth/token']).toBe(1);
    // Each product at most twice: once for the run, once more when that was too soon after the list had named it.
    expect(sandbox.requests['/v1/product/detail']).toBeLessThanOrEqual(240);
    expect(sandbox.requests['/v1/product/list']).toBe(2);
  },
);

test.concurrent('a change made while the first scan is under way is in the mirror too', async (t) => {
  const sandbox = await startService(t, { products: 30 });
  const mirror = await startMirror(t, sandbox, { env: { SERVICE_MAX_RPS: '20' } });
  await eventually(() => (sandbox.requests['/v1/product/detail'] ?? 0) > 4, { what: 'reads are under way' });
  for (const variant of sandbox.truth.variants.filter(({ kind }) => kind === 'own')) {
    sandbox.operations.add({ variantId: variant.id, by: 3 });
  }
  sandbox.operations.createProduct({ name: 'made meanwhile' });
  await sandbox.network.idle();
  await untilLive(mirror);
  await eventually(() => compareWithTruth(mirror.databasePath, sandbox).length === 0, {
    what: 'equal to the truth',
  });
});

test.concurrent('a first read that is killed in its middle goes on with what is left', async (t) => {
  const sandbox = await startService(t, { products: 250 });
  const env = { SERVICE_MAX_RPS: '50' };
  const killed = await startMirror(t, sandbox, { env });
  const readsIn = () => rows(killed.databasePath, `SELECT 1 FROM products WHERE read_at_ms > 0`).length;
  await eventually(() => readsIn() >= 120, { what: 'the middle of the first read' });
  await killed.kill();
  const left = 250 - readsIn();
  const before = sandbox.requests['/v1/product/detail'] ?? 0;

  const again = await startMirror(t, sandbox, { folder: dirname(killed.databasePath), env });
  expect(await untilRunEnds(again, 1)).toMatchObject({ kind: 'initial', state: 'done', done: 250 });
  // Every fifth read goes to the product that was read longest ago, and a few may be on their way.
  const asked = (sandbox.requests['/v1/product/detail'] ?? 0) - before;
  expect(asked).toBeLessThanOrEqual(left * 1.3 + 16);
  await untilLive(again);
  await untilEqual(again, sandbox);
});
