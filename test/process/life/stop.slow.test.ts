import { expect, test } from 'vitest';
import { openInboxWriter } from '../../../src/receiver/inbox-writer.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';
import {
  eventually,
  notKept,
  plainVariants,
  startBoth,
  startMirror,
  statusOf,
  temporaryFolder,
  untilAtRest,
} from '../harness.ts';

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
    const stream = await fetch(`${mirror.opsUrl}/api/changes/stream`);
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
    const stopping = mirror.log.slice(mirror.log.findIndex(({ msg }) => msg === 'stopping'));
    expect(stopping.filter(({ level }) => level === 'error')).toEqual([]);
    sandbox.traffic.stop();
    await stream.body?.cancel().catch(() => undefined);

    const answered = sandbox.deliveries.records.filter(({ status }) => status === 204);
    expect(answered.length).toBeGreaterThan(150);
    expect(notKept(mirror.databasePath, answered)).toEqual([]);
  });
}

const GROUPS = 300;
const GROUP = 200;

test('logs no failure at a stop while a backlog is applied and products are read', async (t) => {
  // A disk that stalls for seconds would hold up the stop.
  const { sandbox, mirror } = await startBoth(t, {}, { folder: temporaryFolder(t) });
  await mirror.stop();
  const levels = plainVariants(sandbox, 5);
  const inbox = openInboxWriter(mirror.databasePath);
  const atMs = Date.now();
  for (let group = 0; group < GROUPS; group += 1) {
    const arrivals = Array.from({ length: GROUP }, (_, at) => {
      const n = group * GROUP + at;
      const level = levels[n % levels.length];
      const change = item({
        id: level?.variantId,
        warehouse_id: level?.warehouseId,
        old: n % 7,
        new: (n + 1) % 7,
        update_time: atMs - GROUPS * GROUP + n,
      });
      return {
        kind: 'delivery' as const,
        arrivedAtMs: atMs,
        isFromStream: false,
        body: delivery(`backlog-${n}`, change),
      };
    });
    inbox.append({ missed: [], atMs, arrivals, position: null, heartbeat: null });
  }
  inbox.close();

  const again = await startMirror(t, sandbox, { folder: mirror.folder });
  await again.stop();
  const failures = again.log.filter(({ level, cause }) => level === 'error' && cause === undefined);
  expect(failures).toEqual([]);
  await untilAtRest(await startMirror(t, sandbox, { folder: mirror.folder }), sandbox);
});
