import { describe, expect, test } from 'vitest';
import type { SearchFacts } from '../../src/mirror/queries/searches.ts';
import { nextStep } from '../../src/reconcile/lookups.ts';
import { SqliteFault } from '../../src/sqlite/errors.ts';
import { present } from '../shared/present.ts';
import {
  appendListed,
  fakeService,
  newReconciler,
  newDatabases,
  productIds,
  recordFirstRead,
  serviceError,
} from './mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 5, 1);

describe('the next step', () => {
  const DONE: SearchFacts = {
    products: 100_000,
    latestMs: NOW - MINUTE,
    firstUnlistedMs: null,
    isRemovalUnlisted: false,
    listedFromMs: NOW,
    searchedAtMs: NOW,
    isListing: false,
    sweptFromMs: NOW - HOUR,
    missed: [],
  };
  const UNLISTED = { ...DONE, firstUnlistedMs: NOW - MINUTE, listedFromMs: 0, searchedAtMs: 0 };

  test.each<[string, Partial<SearchFacts>, number, string | null]>([
    ['is the page of the products edited last', { latestMs: NOW }, NOW - MINUTE, 'page'],
    ['is no further page within a minute', { latestMs: NOW }, NOW - MINUTE + 1, null],
    ['is no page for variants that were named before it', {}, NOW - MINUTE, null],
    ['is the list if the page did not help', UNLISTED, NOW - MINUTE, 'list'],
    ['is the page before the list', UNLISTED, NOW - 2 * MINUTE, 'page'],
    [
      'waits a minute for the reads of the page',
      { ...UNLISTED, firstUnlistedMs: NOW - MINUTE + 1 },
      NOW - MINUTE,
      null,
    ],
    ['is no second list at once', { ...UNLISTED, isListing: true }, NOW - MINUTE, null],
    ['is no further list within an hour', { ...UNLISTED, searchedAtMs: NOW - HOUR + 1 }, NOW - MINUTE, null],
    ['is a further list after an hour', { ...UNLISTED, searchedAtMs: NOW - HOUR }, NOW - MINUTE, 'list'],
    [
      'is a further list after a minute in a small catalogue',
      { ...UNLISTED, products: 1_600, searchedAtMs: NOW - MINUTE },
      NOW - MINUTE,
      'list',
    ],
    [
      'is no further list within a minute',
      { ...UNLISTED, products: 2, searchedAtMs: NOW - MINUTE + 1 },
      NOW - MINUTE,
      null,
    ],
    ['is a list for a product that answered 404', { isRemovalUnlisted: true, searchedAtMs: 0 }, NOW, 'list'],
    ['is no further list for it within an hour', { isRemovalUnlisted: true }, NOW, null],
    ['is no page for it', { latestMs: null, isRemovalUnlisted: true }, 0, null],
    ['notes variants that no product has shown', { ...UNLISTED, missed: ['100'] }, 0, 'missed'],
  ])('%s', (_, over, pagedFromMs, step) => {
    expect(nextStep({ ...DONE, ...over }, { nowMs: NOW, pagedFromMs })).toBe(step);
  });
});

async function setUp(ids: readonly string[], known: readonly string[] = []) {
  const { now, eventually, pass, setBack } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, ids);
  const reconciler = newReconciler({ mirror: databases.mirror, client: service, now });
  await recordFirstRead(databases, now());
  await appendListed(databases, known, now());
  databases.change('DELETE FROM due_reads');
  databases.change('UPDATE products SET read_at_ms = ?', now());
  reconciler.start();
  const name = (variantId: string) =>
    databases.requestReads(now(), 'dead_letter', { variantIds: [variantId] });
  const variant = (id: string) =>
    databases.rows<{
      product: string | null;
      gone: number | null;
      due: number | null;
      missing: number | null;
    }>(
      `SELECT product_id AS product, gone_at_ms AS gone, lookup_at_ms AS due, missing_at_ms AS missing
       FROM variants WHERE variant_id = ?`,
      id,
    )[0];
  const runs = () =>
    databases.rows<{ kind: string }>(`SELECT kind FROM runs WHERE kind <> 'initial'`).map(({ kind }) => kind);
  const lists = () => service.asked.filter((what) => what.startsWith('list'));
  const reads = () => service.asked.filter((what) => !what.startsWith('list'));
  const readAllBySchedule = () => databases.change('UPDATE products SET read_at_ms = ?', now());
  return {
    now,
    eventually,
    pass,
    setBack,
    databases,
    service,
    name,
    variant,
    runs,
    lists,
    reads,
    readAllBySchedule,
  };
}

const variantOf = (productId: string | undefined) => `${present(productId)}01`;

test('finds a variant of a recently edited product without reading the catalogue', async () => {
  const ids = productIds(250);
  const { eventually, name, variant, runs, lists } = await setUp(ids);
  await name(variantOf(ids[40]));
  await eventually(() => variant(variantOf(ids[40]))?.due === null, { what: 'found' });
  expect(variant(variantOf(ids[40]))?.product).toBe(ids[40]);
  expect([lists(), runs()]).toEqual([['list 0'], []]);
});

test('reads the products edited last again after the clock has stepped back', async () => {
  const [first, second] = productIds(2);
  const { eventually, setBack, databases, service, name, variant, runs, lists } = await setUp([
    present(first),
  ]);
  await name(variantOf(first));
  await eventually(() => variant(variantOf(first))?.due === null, { what: 'found' });
  setBack(7 * HOUR);
  databases.change('UPDATE runs SET started_at_ms = started_at_ms - ?', 7 * HOUR);
  databases.change('UPDATE products SET read_at_ms = read_at_ms - ?', 7 * HOUR);
  service.ids.push(present(second));
  await name(variantOf(second));
  await eventually(() => variant(variantOf(second))?.due === null, { what: 'found, too' });
  expect([lists(), runs()]).toEqual([['list 0', 'list 0'], []]);
});

test('makes no row suspect while it reads the products edited last', async () => {
  const ids = productIds(5);
  const { eventually, name, databases, service } = await setUp(ids, ids);
  const suspects: unknown[] = [];
  service.onDetail = () => {
    suspects.push(...databases.rows('SELECT product_id FROM due_reads WHERE is_suspect = 1'));
  };
  await name('999999');
  await eventually(() => service.asked.length > ids.length, { what: 'the products are read' });
  expect(suspects).toEqual([]);
});

test('finds the variant of a new product by a list, and reads no product that the mirror knows', async () => {
  const ids = productIds(250);
  const last = present(ids.at(-1));
  const { eventually, name, variant, runs, lists, reads } = await setUp(ids, ids.slice(0, -1));
  await name(variantOf(last));
  await eventually(() => variant(variantOf(last))?.due === null, { what: 'found' });
  expect(variant(variantOf(last))?.product).toBe(last);
  expect([lists(), runs()]).toEqual([['list 0', 'list 0', 'list 99', 'list 198'], ['search']]);
  expect(reads().filter((id) => !ids.slice(0, 100).includes(id))).toEqual([last]);
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

test('gives up variants without a product after two sweeps, for all of them together', async () => {
  const ids = productIds(250);
  const { eventually, pass, name, variant, runs, lists, reads, readAllBySchedule } = await setUp(ids, ids);
  const archived = ['999997', '999998', '999999'];
  for (const id of archived) await name(id);
  await eventually(() => runs().length === 1, { what: 'the first list' });
  readAllBySchedule();
  await eventually(() => archived.every((id) => present(variant(id)).missing !== null), { what: 'missed' });
  await eventually(() => runs().length === 2, { what: 'the second list' });
  await pass(MINUTE);
  expect(archived.map((id) => variant(id)?.gone)).toEqual([null, null, null]);
  readAllBySchedule();
  await eventually(() => archived.every((id) => present(variant(id)).gone !== null), { what: 'given up' });
  expect(runs()).toEqual(['search', 'search']);
  expect(lists()).toHaveLength(2 * (1 + 3));
  // Only the products edited last are read for it.
  expect(reads().length).toBeLessThanOrEqual(2 * 100);
  expect(reads().filter((id) => !ids.slice(0, 100).includes(id))).toEqual([]);
});

test('searches a large list again for later variants at most once an hour', async () => {
  const ids = productIds(120);
  const { eventually, pass, now, service, databases, name, lists } = await setUp(ids, ids);
  databases.change('UPDATE live_counts SET products = 100000');
  await name('999998');
  await eventually(() => lists().length === 3, { what: 'the first search' });
  await pass(1_000);
  databases.change('UPDATE runs SET started_at_ms = started_at_ms - ?', 58 * MINUTE);
  const searchedAtMs: number[] = [];
  service.onList = ({ sort_by }) => {
    if (sort_by === 'id') searchedAtMs.push(now());
  };
  const namedAtMs = now();
  await name('999999');
  await eventually(() => searchedAtMs.length > 0, { what: 'the second search' });
  expect(present(searchedAtMs[0]) - namedAtMs).toBeGreaterThan(MINUTE);
});

test('does not delay later searches after one whose result could not be recorded', async () => {
  const { eventually, now, databases, name, variant } = await setUp(productIds(3));
  const append = databases.mirror.append.bind(databases.mirror);
  let failing = 8;
  databases.mirror.append = (input) => {
    if (input.kind !== 'listed' || failing === 0) return append(input);
    failing -= 1;
    return Promise.reject(new SqliteFault('cannot_commit', 'the disk is full'));
  };
  const startedAtMs = now();
  await name('987');
  await eventually(() => variant('987')?.gone !== null, { what: 'given up' });
  expect(failing).toBe(0);
  expect(now() - startedAtMs).toBeLessThan(30 * MINUTE);
});

test('concludes nothing while a product is unread', async () => {
  const ids = productIds(50);
  const { eventually, pass, service, databases, name, variant, runs, readAllBySchedule } = await setUp(
    ids,
    ids,
  );
  service.onDetail = (id) => {
    if (id === ids[2]) throw serviceError('rejected');
  };
  await name('999999');
  await eventually(() => runs().length === 1, { what: 'the list' });
  readAllBySchedule();
  databases.change('UPDATE products SET read_at_ms = 0 WHERE product_id = ?', ids[2]);
  await pass(2 * MINUTE);
  expect(variant('999999')).toMatchObject({ missing: null, gone: null });
});
