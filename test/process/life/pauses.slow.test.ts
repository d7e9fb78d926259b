/** Not one request before the time that the service named, measured where they arrive. */
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import { startFront, type Front } from '../front.ts';
import {
  eventually,
  resync,
  startMirror,
  startService,
  untilLive,
  untilQuiet,
  untilRunEnds,
  type RunningMirror,
} from '../harness.ts';

const PAUSE_S = 3;

const SLOW_DOWN = JSON.stringify({ error: 'slow_down', error_description: 'too many requests' });

/** Answers 429 once, to the first request of this path from now on. @returns when it was given. */
function pauseOnce(front: Front, path: string): { givenAtMs: number | null } {
  const pause: { givenAtMs: number | null } = { givenAtMs: null };
  front.answer = (asked) => {
    if (asked !== path || pause.givenAtMs !== null) return null;
    pause.givenAtMs = Date.now();
    return {
      status: 429,
      headers: {
        'content-type': 'application/json',
        'retry-after': String(PAUSE_S),
        date: new Date().toUTCString(),
      },
      body: SLOW_DOWN,
    };
  };
  return pause;
}

const blocked = async (mirror: RunningMirror): Promise<{ kind: string; until: number } | null> =>
  (await mirror.get('/api/status')).body['blocked'] as { kind: string; until: number } | null;

test.concurrent('nothing is sent before the time that a 429 names', async (t) => {
  const sandbox = await startService(t, { products: 40 });
  const front = await startFront(t, sandbox);
  // One at a time: there is nothing under way that may still arrive.
  const env = { SERVICE_BASE_URL: front.baseUrl, SERVICE_MAX_CONCURRENCY: '1' };
  const mirror = await startMirror(t, sandbox, { env });
  await untilLive(mirror);
  await untilQuiet(mirror, sandbox);
  const pause = pauseOnce(front, '/v1/product/detail');
  const { body } = await mirror.post('/api/resync', {});
  await eventually(() => pause.givenAtMs !== null, { what: 'the pause' });
  await eventually(async () => (await blocked(mirror))?.kind === 'rate_limited', {
    what: 'the pause shows',
  });
  await mirror.post('/api/resync', {});
  expect(await untilRunEnds(mirror, Number(body['run_id']))).toMatchObject({ state: 'done', failed: 0 });
  const next = present(front.arrivals.filter(({ atMs }) => atMs > present(pause.givenAtMs))[0]);
  expect(next.atMs - present(pause.givenAtMs)).toBeGreaterThanOrEqual(PAUSE_S * 1_000);
  expect(await blocked(mirror)).toBeNull();
  expect(await resync(mirror)).toMatchObject({ state: 'done' });
});
