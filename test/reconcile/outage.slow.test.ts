import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import { fakeService, newReconciler, newDatabases, productIds, serviceError } from './mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

const HOUR_MS = 3_600_000;

test('limits requests in an hour of failures, merges webhooks and reads everything soon after', async () => {
  const { now, eventually, pass } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, productIds(200));
  const reconciler = newReconciler({ mirror: databases.mirror, client: service, now, random: () => 0.5 });
  let isDown = true;
  service.onDetail = () => {
    if (isDown) throw serviceError('unavailable');
  };
  reconciler.start();
  const { id } = await reconciler.resync(null, null);
  const run = async () => present(await databases.mirror.ask('runById', { id }));
  await eventually(async () => (await run()).listDone, { what: 'the list is scanned' });
  service.onList = service.onDetail as () => void;

  let sent = 0;
  const untilMs = now() + HOUR_MS;
  while (now() < untilMs) {
    sent += 1;
    const body = delivery(`r${sent}`, item({ old: sent - 1, new: sent, update_time: now() }));
    await databases.deliver(body, now());
    await pass(10_000);
  }
  expect(databases.rows('SELECT available_qty AS qty FROM mirror_stock')).toEqual([{ qty: sent }]);
  const details = service.asked.filter((what) => !what.startsWith('list'));
  // A probe every 15 s in the mean, 30 s at the most, would be 240.
  expect(details.length).toBeGreaterThan(60);
  expect(details.length).toBeLessThan(400);
  expect(reconciler.blocked).toMatchObject({ kind: 'breaker' });
  expect(await run()).toMatchObject({ state: 'running', failed: 0 });

  isDown = false;
  const backAtMs = now();
  await eventually(async () => (await run()).state === 'done', { what: 'everything is read' });
  // 30 s at most until the next probe, 60 s until a product that failed is due.
  expect(present((await run()).finishedAtMs) - backAtMs).toBeLessThan(100_000);
  expect(await run()).toMatchObject({ failed: 0, error: null });
});
