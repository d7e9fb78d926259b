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
  untilLogged,
  untilQuiet,
  untilRunEnds,
  type Json,
  type RunningMirror,
} from '../harness.ts';

const PAUSE_S = 3;
/** The instant it is over; a client's clock runs with the test's own. */
const inSeconds = (): string => String(PAUSE_S);
/** A whole second, so the next one: at least `PAUSE_S` from now. */
const asDate = (): string => new Date(Math.ceil(Date.now() / 1_000) * 1_000 + PAUSE_S * 1_000).toUTCString();

const SLOW_DOWN = JSON.stringify({ error: 'slow_down', error_description: 'too many requests' });

/** Answers 429 once, to the first request of this path from now on. @returns when it was given. */
function pauseOnce(front: Front, path: string, retryAfter: () => string): { givenAtMs: number | null } {
  const pause: { givenAtMs: number | null } = { givenAtMs: null };
  front.answer = (asked) => {
    if (asked !== path || pause.givenAtMs !== null) return null;
    pause.givenAtMs = Date.now();
    return {
      status: 429,
      headers: {
        'content-type': 'application/json',
        'retry-after': retryAfter(),
        date: new Date().toUTCString(),
      },
      body: SLOW_DOWN,
    };
  };
  return pause;
}

const blocked = async (mirror: RunningMirror): Promise<{ kind: string; until: number } | null> =>
  (await mirror.get('/api/status')).body['blocked'] as { kind: string; until: number } | null;

for (const [form, retryAfter] of [
  ['seconds', inSeconds],
  ['an HTTP date', asDate],
] as const) {
  test.concurrent(
    `429 on the token endpoint, in ${form}: nothing before its time, then one request`,
    async (t) => {
      const sandbox = await startService(t);
      const front = await startFront(t, sandbox);
      const pause = pauseOnce(front, '/oauth/token', retryAfter);
      const mirror = await startMirror(t, sandbox, { env: { SERVICE_BASE_URL: front.baseUrl } });
      await eventually(async () => (await blocked(mirror))?.kind === 'rate_limited', {
        what: 'the pause shows',
      });
      const isWarning = (line: Json): boolean => line['kind'] === 'rate_limited' && line['level'] === 'warn';
      await untilLogged(mirror, isWarning, 'that it pauses');
      // The operator's word is no reason either.
      expect((await mirror.post('/api/resync', {})).status).toBe(202);
      await untilLive(mirror);
      const later = front.arrivals.filter(({ atMs }) => atMs > present(pause.givenAtMs));
      expect(later[0]).toMatchObject({ path: '/oauth/token' });
      expect(present(later[0]).atMs - present(pause.givenAtMs)).toBeGreaterThanOrEqual(PAUSE_S * 1_000);
      expect(front.arrivals.filter(({ path }) => path === '/oauth/token')).toHaveLength(2);
    },
  );

  test.concurrent(`429 on a read, in ${form}: nothing before its time, of whatever kind`, async (t) => {
    const sandbox = await startService(t, { products: 40 });
    const front = await startFront(t, sandbox);
    // One at a time: there is nothing under way that may still arrive.
    const env = { SERVICE_BASE_URL: front.baseUrl, SERVICE_MAX_CONCURRENCY: '1' };
    const mirror = await startMirror(t, sandbox, { env });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    const pause = pauseOnce(front, '/v1/product/detail', retryAfter);
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
}
