import { expect, test } from 'vitest';
import { eventually, notKept, startBoth, statusOf } from '../harness.ts';

for (const [signal, code] of [
  ['SIGTERM', 0],
  ['SIGHUP', 0],
  ['SIGINT', 130],
] as const) {
  test.concurrent(`exits ${code} on ${signal} under load with every answered delivery on disk`, async (t) => {
    const { sandbox, mirror } = await startBoth(t, { products: 20 });
    sandbox.network.concurrency = 16;
    sandbox.reads.latencyMs = { min: 200, max: 400 };
    sandbox.traffic.start(150);
    await mirror.post('/api/resync', {});
    const stream = await fetch(`${mirror.opsUrl}/api/runs/2/stream`);
    expect(stream.status).toBe(200);
    await eventually(() => sandbox.deliveries.counts.answered > 150, { what: 'traffic' });

    const askedAtMs = Date.now();
    mirror.signal(signal);
    await eventually(() => mirror.log.some(({ msg }) => msg === 'stopping'), { what: 'it stops' });
    mirror.signal(signal);
    expect(await mirror.ended).toEqual({ code, signal: null });
    expect(statusOf(mirror.databasePath).alive_at).toBeGreaterThanOrEqual(askedAtMs);
    expect(statusOf(mirror.databasePath).state).toBe('stale');
    expect(mirror.stderr).toBe('');
    sandbox.traffic.stop();
    await stream.body?.cancel().catch(() => undefined);

    const answered = sandbox.deliveries.records.filter(({ status }) => status === 204);
    expect(answered.length).toBeGreaterThan(150);
    expect(notKept(mirror.databasePath, answered)).toEqual([]);
  });
}
