import { expect, test } from 'vitest';
import { StoreError } from '../../src/sqlite/errors.ts';
import { present } from '../shared/present.ts';
import {
  fakeService,
  newReconciler,
  newStore,
  productIds,
  recordFirstRead,
  serviceError,
  virtualTime,
} from './mirror.ts';

async function setUp(ids: readonly string[]) {
  const { now, eventually } = virtualTime();
  const store = newStore();
  const service = fakeService(now, ids);
  const reconciler = newReconciler({ store, client: service, now });
  await recordFirstRead(store, now());
  reconciler.start();
  const name = (variantId: string) => store.requestReads(now(), 'dead_letter', { variantIds: [variantId] });
  const variant = (id: string) =>
    store.rows<{ product: string | null; gone: number | null; due: number | null; missing: number | null }>(
      `SELECT product_id AS product, gone_at_ms AS gone, lookup_at_ms AS due, missing_at_ms AS missing
       FROM variants WHERE variant_id = ?`,
      id,
    )[0];
  const runs = () => store.rows(`SELECT 1 FROM runs WHERE kind <> 'initial'`).length;
  return { now, eventually, store, service, reconciler, name, variant, runs };
}

const variantOf = (productId: string | undefined) => `${present(productId)}01`;

test('finds a variant of a recently edited product without reading the catalogue', async () => {
  const ids = productIds(250);
  const { eventually, service, name, variant, runs } = await setUp(ids);
  await name(variantOf(ids[40]));
  await eventually(() => variant(variantOf(ids[40]))?.due === null, { what: 'found' });
  expect(variant(variantOf(ids[40]))?.product).toBe(ids[40]);
  expect([service.asked.filter((what) => what.startsWith('list')), runs()]).toEqual([['list 0'], 0]);
});

test('finds any other variant by a run, which new variants do not wait for', async () => {
  const ids = productIds(250);
  const { eventually, service, name, variant } = await setUp(ids);
  const [newest, last] = [variantOf(ids[0]), variantOf(ids.at(-1))];
  const page = Promise.withResolvers<undefined>();
  service.onList = async ({ offset }) => {
    if (offset === 99) await page.promise;
  };
  await name(last);
  await eventually(() => service.asked.includes('list 99'), { what: 'the run is under way' });
  await name(newest);
  await eventually(() => variant(newest)?.product === ids[0], { what: 'the new one is found' });
  expect(variant(last)?.product).toBeNull();
  page.resolve(undefined);
  await eventually(() => variant(last)?.product === ids.at(-1), { what: 'the other is found' });
});

test('finds a product that changes its place in the list between two pages', async () => {
  const ids = productIds(150);
  const moving = present(ids.at(-1));
  const { eventually, service, name, variant } = await setUp(ids);
  const list = service.listProducts.bind(service);
  service.listProducts = async (request = {}) => {
    const isByEdit = request.sort_by === 'update_time';
    service.ids = isByEdit && request.offset !== 0 ? [moving, ...ids.slice(0, -1)] : [...ids];
    return list(request);
  };
  await name(variantOf(moving));
  await eventually(() => variant(variantOf(moving))?.due === null, { what: 'settled' });
  expect(variant(variantOf(moving))).toMatchObject({ product: moving, gone: null });
});

test('gives up a variant without a product after two runs, then searches less often', async () => {
  const { eventually, now, store, service, reconciler, name, variant, runs } = await setUp(productIds(120));
  await name('999999');
  await eventually(() => variant('999999')?.gone !== null, { what: 'given up' });
  expect(runs()).toBe(2);
  const searchedAtMs: number[] = [];
  service.onList = (request) => {
    if (request.sort_by === 'update_time') searchedAtMs.push(now());
  };
  const nameUntil = (searches: number) =>
    eventually(
      async () => {
        await name('999999');
        return searchedAtMs.length >= searches;
      },
      { what: `${searches} searches` },
    );
  await nameUntil(2);
  expect(present(searchedAtMs[1]) - present(searchedAtMs[0])).toBeGreaterThanOrEqual(120_000);
  await reconciler.resync(['100000'], { allowRemovals: false });
  await nameUntil(3);
  expect(present(searchedAtMs[2]) - present(searchedAtMs[1])).toBeLessThan(200_000);
  expect(store.rows(`SELECT 1 FROM runs WHERE kind NOT IN ('initial', 'scheduled', 'products')`)).toEqual([]);
});

test('does not delay later searches after one whose result could not be recorded', async () => {
  const { eventually, now, store, name, variant } = await setUp(productIds(3));
  const append = store.writer.append.bind(store.writer);
  let failing = 8;
  store.writer.append = (input) => {
    if (input.kind !== 'listed' || failing === 0) return append(input);
    failing -= 1;
    return Promise.reject(new StoreError('cannot_commit', 'the disk is full'));
  };
  const startedAtMs = now();
  await name('987');
  await eventually(() => variant('987')?.gone !== null, { what: 'given up' });
  expect(failing).toBe(0);
  expect(now() - startedAtMs).toBeLessThan(30 * 60_000);
});

test('concludes nothing from a run that could not read every product', async () => {
  const ids = productIds(50);
  const { eventually, store, service, name, variant } = await setUp(ids);
  service.onDetail = (id) => {
    if (id === ids[2]) throw serviceError('rejected');
  };
  await name('999999');
  await eventually(() => store.rows(`SELECT 1 FROM runs WHERE state <> 'running'`).length >= 2, {
    what: 'two runs have ended',
  });
  expect(variant('999999')).toMatchObject({ missing: null, gone: null });
});
