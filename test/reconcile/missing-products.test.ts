/** Products that answer 404 (docs/architecture.md#removals). */
import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { fakeService, newDatabases, newReconciler, productIds, recordFirstRead } from './mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

const S = 1_000;
const MINUTE = 60 * S;

/** The first read is done, and the schedule reads every product within two hours. */
async function setUp(count: number) {
  const { now, eventually, pass } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, productIds(count));
  const first = newReconciler({ mirror: databases.mirror, client: service, now });
  await recordFirstRead(databases, now());
  first.start();
  await first.resync(null, null);
  const areAllRead = () =>
    databases.rows('SELECT 1 FROM runs WHERE state = ? AND kind = ?', 'done', 'operator').length > 0;
  await eventually(areAllRead, { what: 'everything is read' });
  await first.stop();
  const reconciler = newReconciler({
    mirror: databases.mirror,
    client: service,
    now,
    schedules: { reconcileCron: '*/15 * * * *', verifyWithinHours: 2, resyncCron: null, timezone: 'UTC' },
  });
  reconciler.start();
  const live = () =>
    databases
      .rows<{ id: string }>(
        'SELECT product_id AS id FROM products WHERE gone_at_ms IS NULL ORDER BY product_id',
      )
      .map(({ id }) => id);
  const states = (id: string) =>
    present(
      databases.rows<{ missing: number | null; gone: number | null }>(
        'SELECT missing_at_ms AS missing, gone_at_ms AS gone FROM products WHERE product_id = ?',
        id,
      )[0],
    );
  return { now, eventually, pass, databases, service, live, states };
}

test('a store that answers 404 instead of 500 for 8 min loses no product', async () => {
  const { pass, eventually, databases, service, live } = await setUp(100);
  const all = [...service.ids];
  const requests = () => databases.rows('SELECT 1 FROM due_reads').length;
  const missing = () => databases.rows('SELECT 1 FROM products WHERE missing_at_ms IS NOT NULL').length;
  service.isBlind = true;
  service.asked.length = 0;
  await pass(8 * MINUTE);
  expect(service.asked.filter((what) => !what.startsWith('list')).length).toBeGreaterThan(6);
  expect(live()).toEqual(all);
  service.isBlind = false;
  await eventually(() => missing() === 0 && requests() === 0, { what: 'all are shown again' });
  expect(live()).toEqual(all);
  expect(databases.rows(`SELECT 1 FROM changes WHERE reason = 'removed'`)).toEqual([]);
});

test('a deleted product is gone half a minute after its first 404', async () => {
  const { eventually, service, live, states, now } = await setUp(30);
  const deleted = present(service.ids.shift());
  await eventually(() => states(deleted).missing !== null, { what: 'the first 404' });
  const missingMs = present(states(deleted).missing);
  await eventually(() => states(deleted).gone !== null, { what: 'gone' });
  expect(now() - missingMs).toBeLessThan(35 * S);
  expect(live()).toEqual(service.ids);
});

test('products that are deleted one after the other need no more than a list a minute', async () => {
  const { eventually, pass, service, live, states } = await setUp(30);
  const lists = () => service.asked.filter((what) => what === 'list 0').length;
  const before = lists();
  const deleted: string[] = [];
  for (let i = 0; i < 6; i += 1) {
    const id = present(service.ids.shift());
    deleted.push(id);
    await eventually(() => states(id).missing !== null, { what: 'the first 404' });
  }
  await eventually(() => deleted.every((id) => states(id).gone !== null), { what: 'all are gone' });
  await pass(10 * MINUTE);
  expect(lists() - before).toBeLessThanOrEqual(6);
  expect(live()).toEqual(service.ids);
});
