import { expect, test } from 'vitest';
import { holdNext } from '../../sandbox/harness.ts';
import { compareWithTruth, startMirror, startService, statusOf, untilLive, untilQuiet } from '../harness.ts';

test.concurrent('reads the whole catalogue at the first start and is live when equal', async (t) => {
  const sandbox = await startService(t, { products: 120 });
  const hold = holdNext(sandbox);
  const mirror = await startMirror(t, sandbox);
  expect(statusOf(mirror.databasePath).state).toBe('catching_up');
  expect(await mirror.get('/readyz')).toEqual({ status: 503, body: { state: 'catching_up' } });
  hold.release();

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
  // Once or twice each; more on a busy machine.
  expect(sandbox.requests['/v1/product/detail']).toBeLessThan(3 * 120);
  expect(sandbox.requests['/v1/product/list']).toBe(2);
});
