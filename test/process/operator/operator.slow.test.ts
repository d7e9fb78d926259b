import { expect, test } from 'vitest';
import { plainVariants, resync, startBoth, untilRunEnds } from '../harness.ts';

test.concurrent(
  'a second resync while one runs is the same run, also when both are asked for at once',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    sandbox.reads.latencyMs = { min: 100, max: 100 };
    const [first, second] = await Promise.all([
      mirror.post('/api/resync', {}),
      mirror.post('/api/resync', {}),
    ]);
    expect(first).toMatchObject({ status: 202, body: { run_id: 2 } });
    expect(second).toEqual(first);
    expect(await mirror.post('/api/resync', {})).toMatchObject({ body: { run_id: 2, joined: true } });
    await untilRunEnds(mirror, 2);
    expect(await mirror.post('/api/resync', {})).toMatchObject({ body: { run_id: 3, joined: false } });
  },
);

test.concurrent('a run of named products reads these, and says how many it could not read', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const [one, refused] = plainVariants(sandbox, 2);
  const asked: unknown[] = [];
  const refusal = {
    status: 403,
    body: { error: 'access_denied', error_description: 'not for this channel' },
  };
  sandbox.reads.intercept = (_, body) => {
    asked.push(body['product_id']);
    return Promise.resolve(body['product_id'] === refused.productId ? refusal : undefined);
  };
  const run = await resync(mirror, { product_ids: [one.productId, refused.productId, '4040404040'] });
  expect(run).toMatchObject({ kind: 'products', state: 'failed', total: 3, done: 2, failed: 1 });
  expect(run['error']).toContain('1 product');
  expect(new Set(asked)).toEqual(new Set([one.productId, refused.productId, '4040404040']));
  expect((await mirror.get('/api/status')).body).toMatchObject({ parked_reads: 1 });

  // A refused read waits for the operator's next word, and then it is tried again.
  sandbox.reads.intercept = null;
  expect(await resync(mirror)).toMatchObject({ state: 'done', failed: 0 });
  expect((await mirror.get('/api/status')).body).toMatchObject({ parked_reads: 0, pending_reads: 0 });
});

test.concurrent('orders that are not understood are refused, and say where', async (t) => {
  const { mirror } = await startBoth(t);
  for (const [body, where] of [
    ['{', 'the body'],
    ['[]', 'the body'],
    [{ product_ids: 'all' }, 'product_ids'],
    [{ product_ids: [] }, 'product_ids'],
    [{ product_ids: ['1', 'x; DROP TABLE'] }, 'product_ids.1'],
    [{ allow_removals: 'yes' }, 'allow_removals'],
    [{ products: ['1'] }, 'products'],
  ] as const) {
    const { status, body: answer } = await mirror.post('/api/resync', body);
    expect(status).toBe(400);
    expect(answer['error']).toBe('invalid_request');
    expect(answer['error_description']).toContain(where);
  }
  for (const path of ['/api/runs/999', '/api/runs/x', '/api/runs/999/stream', '/api/nothing']) {
    expect(await mirror.get(path)).toMatchObject({ status: 404, body: { error: 'not_found' } });
  }
  expect((await mirror.get('/api/runs')).body['runs']).toHaveLength(1);
});

test.concurrent('the stream of a run tells its progress and ends with it', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 30 });
  sandbox.reads.latencyMs = { min: 100, max: 100 };
  const { body } = await mirror.post('/api/resync', {});
  const answer = await fetch(`${mirror.opsUrl}/api/runs/${Number(body['run_id'])}/stream`);
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const events = (await answer.text())
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as { state: string; done: number; total: number });
  expect(events.length).toBeGreaterThan(1);
  expect(events[0]).toMatchObject({ state: 'running' });
  expect(events.at(-1)).toMatchObject({ state: 'done', done: 30, total: 30 });
  expect(events.map(({ done }) => done)).toEqual(events.map(({ done }) => done).sort((a, b) => a - b));
});

test.concurrent(
  'the private listener asks for its token, and takes no orders from another site',
  async (t) => {
    const token = 'a-token-of-some-length';
    const { mirror } = await startBoth(t, {}, { OPS_TOKEN: token });
    const bearer = { authorization: `Bearer ${token}` };
    expect(await mirror.get('/api/status')).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    expect(await mirror.get('/api/status', { authorization: 'Bearer nearly' })).toMatchObject({
      status: 401,
    });
    expect(await mirror.post('/api/resync', {})).toMatchObject({ status: 401 });
    expect(await mirror.get('/readyz', bearer)).toMatchObject({ status: 200 });

    for (const [headers, status] of [
      [{ origin: 'https://evil.example' }, 403],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
      [{ 'content-type': 'text/plain' }, 400],
      [{ origin: mirror.opsUrl, 'sec-fetch-site': 'same-origin' }, 202],
    ] as const) {
      expect(await mirror.post('/api/resync', {}, { ...bearer, ...headers })).toMatchObject({ status });
    }
  },
);
