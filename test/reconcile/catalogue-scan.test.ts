import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginCatalogueRun } from '../../src/reconcile/runs.ts';
import { scanCatalogue } from '../../src/reconcile/catalogue-scan.ts';
import type { Run } from '../../src/core/runs.ts';
import { present } from '../shared/present.ts';
import {
  fakeService,
  log,
  newDatabases,
  newThrottle,
  productIds,
  type FakeService,
  type DirectDatabases,
} from './mirror.ts';

function setUp(ids: readonly string[]) {
  const databases = newDatabases();
  const service = fakeService(Date.now, ids);
  const deps = {
    mirror: databases.mirror,
    client: service,
    throttle: newThrottle(Date.now),
    random: () => 0.5,
    now: Date.now,
    log,
  };
  const begin = () => beginCatalogueRun(deps, 'operator');
  return { databases, service, deps, begin };
}

const { signal } = new AbortController();
const known = (databases: DirectDatabases): Set<string> =>
  new Set(databases.rows<{ id: string }>('SELECT product_id AS id FROM products').map(({ id }) => id));
const reload = async (databases: DirectDatabases, run: Run): Promise<Run> =>
  present(await databases.mirror.ask('runById', { id: run.id }));

test('reads overlapping pages to the end of the list', async () => {
  const { databases, service, deps, begin } = setUp(productIds(250));
  const run = await begin();
  await scanCatalogue(deps, run, signal);
  expect(service.asked).toEqual(['list 0', 'list 99', 'list 198']);
  expect(known(databases)).toEqual(new Set(service.ids));
  expect(await reload(databases, run)).toMatchObject({ listDone: true, total: 250 });
});

test.each([0, 1, 99, 100, 101])('ends after a list of %i products', async (count) => {
  const { databases, service, deps, begin } = setUp(productIds(count));
  await scanCatalogue(deps, await begin(), signal);
  expect(known(databases)).toEqual(new Set(service.ids));
});

test('never misses a product that exists throughout, while others are deleted and created', async () => {
  const turn = fc.record({
    deletedFrom: fc.nat(500),
    deleted: fc.nat({ max: 130 }),
    madeAt: fc.nat(500),
    made: fc.nat({ max: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 480 }),
      fc.array(turn, { maxLength: 14 }),
      async (count, turns) => {
        const { databases, deps, begin, service } = setUp(productIds(count));
        const throughout = new Set(service.ids);
        let next = 0;
        service.onList = () => {
          const now = turns[next++];
          if (now === undefined) return;
          for (const id of service.ids.splice(now.deletedFrom, now.deleted)) throughout.delete(id);
          const after = Number(service.ids[now.madeAt] ?? service.ids.at(-1) ?? 100_000);
          const made = Array.from({ length: now.made }, (_, i) => String(after + (i % 9) + 1));
          service.ids = [...new Set([...service.ids, ...made])].sort((a, b) => Number(a) - Number(b));
        };
        await scanCatalogue(deps, await begin(), signal);
        const missed = [...throughout].filter((id) => !known(databases).has(id));
        expect(missed).toEqual([]);
        expect(service.asked.length).toBeLessThan(200);
      },
    ),
    { numRuns: 30 },
  );
});

test('continues an interrupted scan from its last page', async () => {
  const { databases, service, deps, begin } = setUp(productIds(350));
  const run = await begin();
  await cutOffAt(service, deps, run, 198);
  service.asked.length = 0;
  await scanCatalogue(deps, await reload(databases, run), signal);
  expect(service.asked).toEqual(['list 198', 'list 297']);
  expect(known(databases)).toEqual(new Set(service.ids));
});

test('steps back after deletions during an interruption and misses nothing', async () => {
  const { databases, service, deps, begin } = setUp(productIds(350));
  const run = await begin();
  await cutOffAt(service, deps, run, 198);
  service.ids.splice(20, 30);
  service.asked.length = 0;
  await scanCatalogue(deps, await reload(databases, run), signal);
  expect(service.ids.filter((id) => !known(databases).has(id))).toEqual([]);
  expect(service.asked.length).toBeLessThan(12);
  expect(service.asked).not.toContain('list 0');
});

test('advances through a list with one product per page', async () => {
  const { databases, service, deps, begin } = setUp(productIds(7));
  const list = service.listProducts.bind(service);
  service.listProducts = async (request = {}) => {
    const answer = await list({ ...request, limit: 1 });
    return answer;
  };
  await scanCatalogue(deps, await begin(), signal);
  expect(known(databases)).toEqual(new Set(service.ids));
  expect(service.asked).toHaveLength(7);
});

test('rejects a list without a steady order as a contract error', async () => {
  const { service, deps, begin } = setUp(productIds(300));
  service.onList = ({ offset = 0 }) => {
    service.ids = productIds(300).map((id) => (offset === 0 ? id : `${id}${service.asked.length}`));
  };
  await expect(scanCatalogue(deps, await begin(), signal)).rejects.toThrow('no steady order');
  expect(service.asked.length).toBeLessThan(150);
});

test.each([1, 2, 100])('rejects a list that repeats the same %i products forever', async (count) => {
  const { databases, service, deps, begin } = setUp(productIds(300));
  const list = service.listProducts.bind(service);
  service.listProducts = async (request = {}) => list({ ...request, offset: 0, limit: count });
  await expect(scanCatalogue(deps, await begin(), signal)).rejects.toThrow('bring nothing new');
  expect(service.asked.length).toBeLessThan(20);
  expect(known(databases).size).toBe(count);
});

async function cutOffAt(
  service: FakeService,
  deps: Parameters<typeof scanCatalogue>[0],
  run: Run,
  offset: number,
): Promise<void> {
  const controller = new AbortController();
  service.onList = (request) => {
    if (request.offset !== offset) return;
    controller.abort(new Error('cut off'));
    controller.signal.throwIfAborted();
  };
  await expect(scanCatalogue(deps, run, controller.signal)).rejects.toThrow('cut off');
  service.onList = () => undefined;
}
