import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  compareWithTruth,
  eventually,
  type Json,
  plainVariants,
  type RunningMirror,
  startBoth,
  startMirror,
  startService,
  throughout,
  untilDelivered,
  untilLive,
  untilLogged,
} from '../harness.ts';

const untilRefused = (mirror: RunningMirror): Promise<unknown> =>
  eventually(
    async () => {
      const { body } = await mirror.get('/api/status');
      return (body['blocked'] as { kind: string } | null)?.kind === 'credentials';
    },
    { what: 'the credentials are refused' },
  );

test.concurrent(
  'a wrong secret is tried once, also after a restart, until somebody says otherwise',
  async (t) => {
    const sandbox = await startService(t);
    const tokenRequests = (): number => sandbox.requests['/oauth/token'] ?? 0;
    const wrong = { SERVICE_CLIENT_SECRET: 'not-the-secret' };
    const mirror = await startMirror(t, sandbox, { env: wrong });
    await untilRefused(mirror);
    // Longer than the mirror waits before it looks whether somebody has lifted the lockout.
    await throughout(6_000, () => {
      expect(tokenRequests()).toBe(1);
    });
    // Deliveries are accepted all the same.
    sandbox.operations.add({ ...plainVariants(sandbox, 1)[0], by: 3 });
    await untilDelivered(mirror, sandbox);
    expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });

    await mirror.stop();
    const folder = dirname(mirror.databasePath);
    const again = await startMirror(t, sandbox, { folder, env: wrong });
    await untilRefused(again);
    expect(tokenRequests()).toBe(1);

    expect((await again.post('/api/resync', {})).status).toBe(202);
    await eventually(() => tokenRequests() === 2, { what: 'one more try on the operator’s word' });
    await untilRefused(again);
    expect(tokenRequests()).toBe(2);
    expect(again.log.some((line) => JSON.stringify(line).includes('not-the-secret'))).toBe(false);

    await again.stop();
    const right = await startMirror(t, sandbox, { folder });
    await untilLive(right);
    expect(tokenRequests()).toBe(3);
    expect(compareWithTruth(right.databasePath, sandbox)).toEqual([]);
  },
);

test.concurrent('tokens that all expire at once are replaced by one request', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 60 });
  expect(sandbox.requests['/oauth/token']).toBe(1);
  sandbox.reads.latencyMs = { min: 20, max: 40 };
  await mirror.post('/api/resync', {});
  const before = present(sandbox.requests['/v1/product/detail']);
  await eventually(() => present(sandbox.requests['/v1/product/detail']) > before + 20, {
    what: 'reads at full tilt',
  });
  sandbox.oauth.expireAllTokens();
  await eventually(async () => (await mirror.get('/api/runs/2')).body['state'] === 'done', {
    what: 'the end',
  });
  expect(sandbox.requests['/oauth/token']).toBe(2);
});

test.concurrent(
  'a channel that expires while the mirror runs is asked for one token, not many, until an operator says otherwise',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const tokenRequests = (): number => sandbox.requests['/oauth/token'] ?? 0;
    const [level] = plainVariants(sandbox, 1);
    sandbox.oauth.channelExpired = true;
    sandbox.oauth.expireAllTokens();
    const { body } = await mirror.post('/api/resync', {});
    await untilRefused(mirror);
    const isWarning = (line: Json): boolean => line['level'] === 'warn' && line['kind'] === 'credentials';
    await untilLogged(mirror, isWarning, 'that the credentials are refused');
    // Longer than the mirror waits before it looks whether somebody has lifted the lockout.
    await throughout(6_000, () => {
      expect(tokenRequests()).toBe(2);
    });
    sandbox.operations.add({ ...level, by: 3 });
    await untilDelivered(mirror, sandbox);
    expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });

    // The service answers an expired channel like a wrong secret: that it was renewed, only a person can know.
    await mirror.stop();
    const again = await startMirror(t, sandbox, { folder: dirname(mirror.databasePath) });
    sandbox.oauth.channelExpired = false;
    await untilRefused(again);
    expect(tokenRequests()).toBe(2);
    expect((await again.post('/api/resync', {})).status).toBe(202);
    await eventually(async () => (await again.get('/api/status')).body['blocked'] === null, {
      what: 'it is asked again',
    });
    await eventually(
      async () => (await again.get(`/api/runs/${String(body['run_id'])}`)).body['state'] === 'done',
      {
        what: 'the run goes on where it stopped',
      },
    );
    expect(tokenRequests()).toBe(3);
    expect(compareWithTruth(again.databasePath, sandbox)).toEqual([]);
  },
);
