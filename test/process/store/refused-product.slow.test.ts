/** One product that the service refuses to show must not keep everything else from being done. */
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import {
  eventually,
  plainVariants,
  resync,
  rows,
  startBoth,
  startMirror,
  startService,
  statusOf,
  untilLive,
  untilRunEnds,
  type RunningMirror,
} from '../harness.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';

const REFUSAL = {
  status: 403,
  body: { error: 'access_denied', error_description: 'not for this channel' },
};

function refuse(sandbox: Sandbox, productId: string): { asked: number } {
  const seen = { asked: 0 };
  sandbox.reads.intercept = (_, body) => {
    if (body['product_id'] !== productId) return Promise.resolve(undefined);
    seen.asked += 1;
    return Promise.resolve(REFUSAL);
  };
  return seen;
}

const suspects = (mirror: RunningMirror): string[] =>
  rows<{ id: string }>(
    mirror.databasePath,
    'SELECT DISTINCT product_id AS id FROM mirror_stock WHERE suspect = 1',
  ).map(({ id }) => id);

test.concurrent(
  'a product that is refused for ever leaves the first scan done and the mirror live',
  async (t) => {
    const sandbox = await startService(t);
    const [level] = plainVariants(sandbox, 1);
    const seen = refuse(sandbox, level.productId);
    const mirror = await startMirror(t, sandbox);
    await untilLive(mirror);
    expect(await untilRunEnds(mirror, 1)).toMatchObject({ kind: 'initial', state: 'done', failed: 1 });
    expect((await mirror.get('/readyz')).status).toBe(200);
    const due = async () => (await mirror.get('/api/status')).body;
    await eventually(async () => (await due())['parked_reads'] === 1, { what: 'its read is parked' });
    expect(await due()).toMatchObject({ pending_reads: 1 });
    expect(rows(mirror.databasePath, 'SELECT 1 FROM mirror_products')).toHaveLength(11);
    expect(seen.asked).toBe(1);
    expect(mirror.log.filter((line) => line['productId'] === level.productId)).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: expect.stringContaining('refuses to answer for this product') as string,
      }),
    );

    // On the operator's word it is tried once more, and the run says what became of it.
    expect(await resync(mirror)).toMatchObject({ state: 'done', done: 11, failed: 1 });
    expect(seen.asked).toBe(2);
    sandbox.reads.intercept = null;
    expect(await resync(mirror)).toMatchObject({ state: 'done', done: 12, failed: 0 });
    await eventually(() => statusOf(mirror.databasePath).pending_reads === 0, { what: 'nothing is due' });
    expect((await mirror.get('/api/status')).body).toMatchObject({ parked_reads: 0 });
  },
);

test.concurrent('after downtime the rows of a refused product alone stay suspect', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const [level] = plainVariants(sandbox, 1);
  await mirror.kill();
  // Longer than the silence that counts as downtime.
  await eventually(() => Date.now() - statusOf(mirror.databasePath).alive_at > 5_500, { what: 'a downtime' });
  const seen = refuse(sandbox, level.productId);
  const again = await startMirror(t, sandbox, { folder: dirname(mirror.databasePath) });
  await untilLive(again);
  expect(suspects(again)).toEqual([level.productId]);
  expect(seen.asked).toBeGreaterThanOrEqual(1);

  sandbox.reads.intercept = null;
  await resync(again);
  expect(suspects(again)).toEqual([]);
});

test.concurrent('a service that refuses every product does not pass for a mirror that is live', async (t) => {
  const sandbox = await startService(t);
  sandbox.reads.intercept = (endpoint) =>
    Promise.resolve(endpoint === '/v1/product/detail' ? REFUSAL : undefined);
  const mirror = await startMirror(t, sandbox);
  expect(await untilRunEnds(mirror, 1)).toMatchObject({ state: 'failed', done: 0, failed: 12 });
  expect(statusOf(mirror.databasePath).state).toBe('catching_up');
  expect((await mirror.get('/readyz')).status).toBe(503);
});
