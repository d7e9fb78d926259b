import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  type RunningMirror,
  startMirror,
  startService,
  throughout,
  untilDelivered,
  untilLive,
} from '../harness.ts';

const untilRefused = (mirror: RunningMirror): Promise<unknown> =>
  eventually(
    async () => {
      const { body } = await mirror.get('/api/status');
      return (body['causes'] as { code: string }[]).some(({ code }) => code === 'credentials');
    },
    { what: 'the credentials are refused' },
  );

test.concurrent('tries a wrong secret once, also over a restart, until an operator’s request', async (t) => {
  const sandbox = await startService(t);
  const tokenRequests = (): number => sandbox.requests['/oauth/token'] ?? 0;
  const wrong = { SERVICE_CLIENT_SECRET: 'not-the-secret' };
  const mirror = await startMirror(t, sandbox, { env: wrong });
  await untilRefused(mirror);
  // Longer than the mirror waits before looking for a lifted lockout.
  await throughout(6_000, () => {
    expect(tokenRequests()).toBe(1);
  });
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
});
