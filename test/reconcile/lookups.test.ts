import { expect, onTestFinished, test } from 'vitest';
import { lookUp } from '../../src/reconcile/lookup.ts';
import { Lookups } from '../../src/reconcile/lookups.ts';
import { ReadQueue } from '../../src/reconcile/read-queue.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { present } from '../shared/present.ts';
import { eventually, throughout } from '../process/wait.ts';
import { fakeService, hastyClock, log, newStore, newThrottle, productIds, serviceError } from './mirror.ts';

/** Queue and lookups as the reconciler drives them, on a clock that hurries. */
function setUp(ids: readonly string[], haste = 40) {
  const now = hastyClock(haste);
  const store = newStore();
  const service = fakeService(now, ids);
  const controller = new AbortController();
  const deps = { store, client: service, throttle: newThrottle(now), random: () => 0.5, now, log };
  const queue = new ReadQueue({
    ...deps,
    onParked: () => undefined,
    onIdle: () => undefined,
  });
  const lookups = new Lookups(deps, controller.signal);
  queue.start();
  const tick = setInterval(() => {
    void store.reader.ask('dueChores', { nowMs: now() }).then(
      (due) => lookups.begin(due.lookups),
      () => undefined,
    );
  }, 20);
  onTestFinished(async () => {
    clearInterval(tick);
    controller.abort();
    await lookups.ended();
    await queue.stop();
  });
  const wonder = (variantId: string) =>
    store.writer.append({
      kind: 'oblige',
      atMs: now(),
      reason: 'quarantine',
      productIds: [],
      variantIds: [variantId],
    });
  const variant = (id: string) =>
    store.rows<{ product: string | null; gone: number | null; due: number | null; missing: number | null }>(
      `SELECT product_id AS product, gone_at_ms AS gone, lookup_at_ms AS due, missing_at_ms AS missing
       FROM variants WHERE variant_id = ?`,
      id,
    )[0];
  const lists = () => service.asked.filter((what) => what.startsWith('list'));
  return { now, store, service, lookups, wonder, variant, lists };
}

test('a variant of a product among the newest is found without scanning any further', async () => {
  const ids = productIds(250);
  const { wonder, variant, lists } = setUp(ids);
  await wonder(`${present(ids[40])}01`);
  await eventually(() => variant(`${present(ids[40])}01`)?.product === ids[40], { what: 'found' });
  await eventually(() => variant(`${present(ids[40])}01`)?.due === null, { what: 'settled' });
  expect(lists()).toEqual(['list 0']);
});

test('one further down is found by a scan of everything, and a new one need not wait for that scan', async () => {
  const ids = productIds(250);
  const { service, wonder, variant, lists } = setUp(ids);
  const last = `${present(ids.at(-1))}01`;
  const newest = `${present(ids[0])}01`;
  // The scan hangs on its second page.
  const page = Promise.withResolvers<undefined>();
  service.onList = async ({ offset }) => {
    if (offset === 100) await page.promise;
  };
  await wonder(last);
  await eventually(() => lists().includes('list 100'), { what: 'the scan is under way' });
  await wonder(newest);
  await eventually(() => variant(newest)?.product === ids[0], { what: 'the new one is found' });
  expect(variant(last)?.product).toBeNull();
  page.resolve(undefined);
  await eventually(() => variant(last)?.product === ids.at(-1), { what: 'the other is found' });
});

test('searches whose result could not be kept do not make the next ones rarer', async () => {
  const { now, store, wonder, variant } = setUp(productIds(3));
  const append = store.writer.append.bind(store.writer);
  let failing = 8;
  store.writer.append = (entry) => {
    if (entry.kind !== 'listed' || failing === 0) return append(entry);
    failing -= 1;
    return Promise.reject(new StoreError('cannot_commit', 'the disk is full'));
  };
  const startedAtMs = now();
  await wonder('987');
  await eventually(() => variant('987')?.gone !== null, { what: 'given up' });
  expect(failing).toBe(0);
  // Eight failures, the two searches, and half a minute between these.
  expect(now() - startedAtMs).toBeLessThan(5 * 60_000);
}, 20_000);

test('a variant that nobody has is given up after two scans, and then looked for ever more rarely', async () => {
  const { now, service, lookups, wonder, variant, lists } = setUp(productIds(120), 100);
  const askedAtMs: number[] = [];
  service.onList = () => void askedAtMs.push(now());
  await wonder('999999');
  await eventually(() => variant('999999')?.missing !== null, { what: 'missed once' });
  await eventually(() => variant('999999')?.gone !== null, { what: 'given up' });
  // Twice the newest and then everything.
  expect(lists()).toEqual(['list 0', 'list 0', 'list 100', 'list 0', 'list 0', 'list 100']);
  // It goes on being told of.
  await eventually(
    async () => {
      await wonder('999999');
      return askedAtMs.length >= 10;
    },
    { what: 'two more searches' },
  );
  const searchedAtMs = askedAtMs.filter((_, i) => i % 3 === 0);
  expect(present(searchedAtMs[2]) - present(searchedAtMs[1])).toBeGreaterThanOrEqual(60_000);
  expect(present(searchedAtMs[3]) - present(searchedAtMs[2])).toBeGreaterThanOrEqual(120_000);

  // The next one would be due four minutes later.
  const searches = askedAtMs.length;
  lookups.forgetPacing();
  await eventually(() => askedAtMs.length > searches, { what: 'a search on an operator’s word' });
  expect(present(askedAtMs[searches]) - present(searchedAtMs[3])).toBeLessThan(200_000);
});

test('a first miss is confirmed half a minute later, also after searches that came to nothing', async () => {
  const ids = productIds(5);
  const { now, service, wonder, variant, lists } = setUp(ids, 400);
  const answered = Promise.withResolvers<undefined>();
  service.onDetail = async (id) => {
    if (id === ids[2]) await answered.promise;
  };
  await wonder('999999');
  await eventually(() => lists().length >= 5, { what: 'searches that came to nothing' });
  expect(variant('999999')?.missing).toBeNull();
  answered.resolve(undefined);
  await eventually(() => variant('999999')?.missing !== null, { what: 'missed once' });
  const missedAtMs = now();
  await eventually(() => variant('999999')?.gone !== null, { what: 'given up' });
  // By its number alone the next search would be eight minutes later.
  expect(now() - missedAtMs).toBeLessThan(4 * 60_000);
});

test('one that comes back into question is missed once more, and confirmed as soon', async () => {
  const { now, store, wonder, variant } = setUp(productIds(5), 100);
  await wonder('999999');
  await eventually(() => variant('999999')?.gone !== null, { what: 'given up' });
  // A late delivery: what was missed before it says nothing any more.
  store.change(`UPDATE variants SET missing_at_ms = NULL WHERE variant_id = '999999'`);
  await wonder('999999');
  await eventually(() => variant('999999')?.missing !== null, { what: 'missed again' });
  const missedAtMs = now();
  await eventually(() => variant('999999')?.due === null, { what: 'settled' });
  // By its number alone the next search would be two minutes later.
  expect(now() - missedAtMs).toBeLessThan(100_000);
});

test('nothing is concluded from a scan whose reads did not all come to an end, and it is not repeated at once', async () => {
  const ids = productIds(5);
  const { service, wonder, variant, lists } = setUp(ids, 400);
  service.onDetail = (id) => {
    if (id === ids[2]) throw serviceError('rejected');
  };
  await wonder('999999');
  await eventually(() => lists().length >= 2, { what: 'it was looked for twice' });
  await throughout(500, () => {
    expect(variant('999999')).toMatchObject({ missing: null, gone: null });
    expect(lists().length).toBeLessThan(12);
  });
});

test('a list that shows the same products for ever is not scanned for ever', async () => {
  const store = newStore();
  const service = fakeService(Date.now, productIds(300));
  const list = service.listProducts.bind(service);
  service.listProducts = async (request = {}) => list({ ...request, offset: 0 });
  // Nobody reads what the pages name: each is waited for in vain, by a clock that runs ahead.
  let nowMs = Date.now();
  const now = () => (nowMs += 61_000);
  await store.writer.append({
    kind: 'oblige',
    atMs: nowMs,
    reason: 'quarantine',
    productIds: [],
    variantIds: ['nowhere'],
  });
  const deps = { store, client: service, throttle: newThrottle(Date.now), random: () => 0.5, now, log };
  const scan = lookUp(deps, ['nowhere'], 'everything', new AbortController().signal);
  await expect(scan).rejects.toThrow('bring nothing new');
  expect(service.asked.length).toBeLessThan(20);
});
