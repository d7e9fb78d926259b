/** Rows of the product list that the store cannot serve (docs/architecture.md#catalogue-scan). */
import { expect, test } from 'vitest';
import type { ProductListRequest } from '../../src/store-api/contract/schemas.ts';
import { present } from '../shared/present.ts';
import {
  fakeService,
  newDatabases,
  newReconciler,
  productIds,
  recordFirstRead,
  serviceError,
} from './mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

const MINUTE = 60_000;
const PAGE = 100;

function setUp(count: number) {
  const { now, eventually, pass } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, productIds(count));
  const reconciler = newReconciler({ mirror: databases.mirror, client: service, now });
  const known = () =>
    databases.rows<{ id: string }>('SELECT product_id AS id FROM products').map(({ id }) => id);
  const listedFromMs = () =>
    present(databases.rows<{ ms: number }>('SELECT listed_from_ms AS ms FROM mirror_state')[0]).ms;
  const run = () =>
    databases.rows<{ state: string; gap: string | null; done: number }>(
      'SELECT state, list_gap AS gap, list_done AS done FROM runs ORDER BY id DESC LIMIT 1',
    )[0] ?? { state: 'none', gap: null, done: 0 };
  return { now, eventually, pass, databases, service, reconciler, known, listedFromMs, run };
}

/** Fails each request whose rows include one of these, counted from 0. */
const failingAt =
  (isBroken: (offset: number) => boolean) =>
  ({ offset = 0, limit = 20, sort_by }: ProductListRequest) => {
    if (sort_by !== 'id') return;
    for (let row = offset; row < offset + limit; row += 1) {
      if (isBroken(row)) throw serviceError('unavailable');
    }
  };

test.each([[[160]], [[0]], [[99]], [[100]], [[249]], [[30, 31]], [[7, 120, 200]]])(
  'a list whose rows %s cannot be served ends without them, and removes nothing',
  async (broken) => {
    const { eventually, databases, service, reconciler, known, listedFromMs, run, now } = setUp(250);
    service.onList = failingAt((row) => broken.includes(row));
    const before = listedFromMs();
    reconciler.start();
    await eventually(() => run().state === 'done', { what: 'the first read ends' });
    expect(new Set(known())).toEqual(new Set(service.ids.filter((_, row) => !broken.includes(row))));
    expect(run().gap).toBe(`at offset ${broken.join(', ')} (made up)`);
    expect(listedFromMs()).toBe(before);
    expect(databases.rows('SELECT 1 FROM service_state WHERE last_full_sync_at_ms IS NULL')).toEqual([]);
    expect(await databases.mirror.ask('stateFacts', { nowMs: now() })).toMatchObject({
      listGap: run().gap,
    });
    expect(service.asked.filter((what) => what.startsWith('list')).length).toBeLessThan(100 * broken.length);
  },
);

test('a list that fails from a row on ends there', async () => {
  const { eventually, service, reconciler, known, run } = setUp(1_000);
  service.onList = failingAt((row) => row >= 150);
  reconciler.start();
  await eventually(() => run().state === 'done', { what: 'the first read ends' });
  expect(known()).toHaveLength(150);
  expect(run().gap).toBe('from offset 150 on (made up)');
  expect(service.asked.length - 150).toBeLessThan(300);
});

test('waits for a list of which the store serves no row', async () => {
  const { pass, eventually, service, reconciler, known, run } = setUp(250);
  let isDown = true;
  service.onList = () => {
    if (isDown) throw serviceError('unavailable');
  };
  reconciler.start();
  await pass(20 * MINUTE);
  expect([run().done, run().gap, known()]).toEqual([0, null, []]);
  isDown = false;
  await eventually(() => run().state === 'done', { what: 'the first read ends' });
  expect([run().gap, known().length]).toEqual([null, 250]);
});

test('a whole list ends the cause', async () => {
  const { eventually, databases, service, reconciler, run, now } = setUp(250);
  service.onList = failingAt((row) => row === 160);
  reconciler.start();
  await eventually(() => run().state === 'done', { what: 'the first read ends' });
  service.onList = () => undefined;
  await reconciler.resync(null, null);
  await eventually(() => run().state === 'done', { what: 'the resync ends' });
  expect(await databases.mirror.ask('stateFacts', { nowMs: now() })).toMatchObject({ listGap: null });
});

test('a search continues without a row among the products edited last', async () => {
  const { eventually, databases, service, reconciler, now } = setUp(250);
  await recordFirstRead(databases, now());
  service.onList = ({ offset = 0, limit = 20, sort_by }) => {
    if (sort_by === 'update_time' && offset <= 3 && offset + limit > 3) throw serviceError('contract');
  };
  reconciler.start();
  const last = `${present(service.ids[40])}01`;
  await databases.requestReads(now(), 'dead_letter', { variantIds: [last] });
  const isFound = () =>
    databases.rows('SELECT 1 FROM variants WHERE variant_id = ? AND product_id IS NOT NULL', last).length > 0;
  await eventually(isFound, { what: 'the variant is found' });
  expect(service.asked.filter((what) => what.startsWith('list')).length).toBeLessThan(PAGE);
});
