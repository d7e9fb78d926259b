import { expect, test } from 'vitest';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  rows,
  type RunningMirror,
  startBoth,
  startMirror,
  startService,
  throughout,
  untilDelivered,
  untilEqual,
  untilLive,
  untilPastReads,
  untilQuiet,
  untilRunEnds,
} from '../harness.ts';
import { startFront } from '../front.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';

const asked = (sandbox: Sandbox): number =>
  Object.values(sandbox.requests).reduce((sum, count) => sum + count, 0);

const blockedKind = async (mirror: RunningMirror): Promise<string | null> => {
  const { body } = await mirror.get('/api/status');
  return (body['blocked'] as { kind: string } | null)?.kind ?? null;
};

for (const [name, fault] of [
  ['answers 500', { serverError: 1 }],
  ['cuts every connection', { reset: 1 }],
] as const) {
  test.concurrent(
    `a service that ${name} is asked ever less, and what is due is read when it is back`,
    async (t) => {
      const { sandbox, mirror } = await startBoth(t, { products: 40 });
      await untilPastReads(mirror, sandbox);
      Object.assign(sandbox.reads.fail, fault);
      const before = asked(sandbox);
      const { body } = await mirror.post('/api/resync', {});
      const [level, other] = plainVariants(sandbox, 2);
      sandbox.network.loseNext(1);
      sandbox.operations.reserve([level, other].map((line) => ({ ...line, qty: 1 })));
      sandbox.operations.add({ ...level, by: 2 });
      await untilDelivered(mirror, sandbox);
      expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });

      await eventually(async () => (await blockedKind(mirror)) === 'breaker', { what: 'the breaker opens' });
      await throughout(5_000, () => {
        expect(asked(sandbox) - before).toBeLessThan(40);
      });
      expect(asked(sandbox) - before).toBeGreaterThan(5);

      Object.assign(sandbox.reads.fail, { serverError: 0, reset: 0 });
      expect(await untilRunEnds(mirror, Number(body['run_id']))).toMatchObject({ state: 'done', failed: 0 });
      await untilEqual(mirror, sandbox);
      expect(await blockedKind(mirror)).toBeNull();
      expect(rows(mirror.databasePath, 'SELECT * FROM read_failures')).toEqual([]);
    },
  );
}

test.concurrent('a service that asks for a pause gets it', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 40 });
  sandbox.reads.fail.slowDown = 1;
  sandbox.reads.fail.retryAfterS = 3;
  const before = asked(sandbox);
  const { body } = await mirror.post('/api/resync', {});
  await eventually(async () => (await blockedKind(mirror)) === 'rate_limited', { what: 'the pause' });
  // What was under way when the first answer came may still come.
  const atPause = asked(sandbox);
  expect(atPause - before).toBeLessThanOrEqual(9);
  await throughout(2_000, () => {
    expect(asked(sandbox)).toBeLessThanOrEqual(atPause + 8);
  });
  sandbox.reads.fail.slowDown = 0;
  expect(await untilRunEnds(mirror, Number(body['run_id']))).toMatchObject({ state: 'done', failed: 0 });
  await untilQuiet(mirror, sandbox);
});

test.concurrent(
  'a service that refuses every token is not asked for one token after the other',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t, { products: 40 });
    const tokens = present(sandbox.requests['/oauth/token']);
    sandbox.reads.fail.invalidToken = 1;
    const { body } = await mirror.post('/api/resync', {});
    await eventually(() => present(sandbox.requests['/oauth/token']) > tokens, { what: 'a new token' });
    await throughout(4_000, () => {
      expect(present(sandbox.requests['/oauth/token']) - tokens).toBeLessThanOrEqual(4);
    });
    sandbox.reads.fail.invalidToken = 0;
    expect(await untilRunEnds(mirror, Number(body['run_id']))).toMatchObject({ state: 'done', failed: 0 });
  },
);

test.concurrent('the answers of another store are not mirrored, and no more are asked for', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 40 });
  const [level] = plainVariants(sandbox, 1);
  const seen = (): unknown[] => [
    rows(mirror.databasePath, 'SELECT * FROM mirror_products ORDER BY product_id'),
    rows(mirror.databasePath, 'SELECT * FROM mirror_variants ORDER BY variant_id'),
  ];
  const before = seen();
  sandbox.reads.intercept = (endpoint, _, respond) => {
    if (endpoint !== '/v1/product/detail') return Promise.resolve(undefined);
    const { status, body: answer } = respond();
    const product = { ...(answer['product'] as object), store_id: '424242', name: 'foreign' };
    return Promise.resolve({ status, body: { ...answer, product } });
  };
  await mirror.post('/api/resync', {});
  await eventually(async () => (await blockedKind(mirror)) === 'wrong_store', { what: 'the other store' });
  const askedOnce = asked(sandbox);
  await throughout(2_000, () => {
    expect(asked(sandbox)).toBeLessThanOrEqual(askedOnce + 8);
  });
  expect(seen()).toEqual(before);
  const { body } = await mirror.get('/api/status');
  expect(JSON.stringify(body['blocked'])).toContain('424242');

  sandbox.operations.add({ ...level, by: 2 });
  await untilDelivered(mirror, sandbox);
  expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });
  expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
});

test.concurrent(
  'an address that refuses connections is asked ever less, and all is read when it is back',
  async (t) => {
    const sandbox = await startService(t, { products: 40 });
    const front = await startFront(t, sandbox);
    const mirror = await startMirror(t, sandbox, { env: { SERVICE_BASE_URL: front.baseUrl } });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    await front.close();
    const { body } = await mirror.post('/api/resync', {});
    await eventually(async () => (await blockedKind(mirror)) === 'breaker', { what: 'the breaker opens' });
    const [level] = plainVariants(sandbox, 1);
    sandbox.operations.add({ ...level, by: 2 });
    await untilDelivered(mirror, sandbox);
    expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });
    expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
    const failed = (): number =>
      mirror.log.filter((line) => JSON.stringify(line).includes('ECONNREFUSED')).length;
    const before = failed();
    await throughout(5_000, () => {
      expect(failed() - before).toBeLessThan(20);
    });
    await front.open();
    expect(await untilRunEnds(mirror, Number(body['run_id']))).toMatchObject({
      state: 'done',
      failed: 0,
    });
    await untilEqual(mirror, sandbox);
  },
);
