import { expect, onTestFinished, test, vi } from 'vitest';
import { ReadQueue } from '../../src/reconcile/read-queue.ts';
import { beginCatalogueRun } from '../../src/reconcile/runs.ts';
import { SqliteFault } from '../../src/sqlite/errors.ts';
import { present } from '../shared/present.ts';
import {
  appendListed,
  fakeService,
  hang,
  log,
  newDatabases,
  newThrottle,
  productIds,
  serviceError,
  type FakeService,
  type DirectDatabases,
} from './mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

interface Failure {
  readonly attempts: number;
  readonly parked: number;
  readonly waitMs: number;
}

function setUp(options: { maxConcurrency?: number; ids?: string[]; scheduled?: number } = {}) {
  const { now, eventually, pass, setBack } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, options.ids ?? productIds(60));
  const throttle = newThrottle(now, options);
  const queue = new ReadQueue({
    mirror: databases.mirror,
    client: service,
    throttle,
    now,
    random: () => 0.5,
    log,
    verification: { free: () => options.scheduled ?? 0, begun: () => undefined },
    probe: { take: () => [], claimsOf: () => [], answered: () => undefined },
  });
  const failures = () =>
    databases.rows<Failure>(
      `SELECT attempts, parked, retry_at_ms - failed_at_ms AS waitMs FROM due_reads
       WHERE failed_at_ms IS NOT NULL ORDER BY product_id`,
    );
  return { now, eventually, pass, setBack, databases, service, throttle, queue, failures };
}

async function readLongAgo(
  databases: DirectDatabases,
  service: FakeService,
  ids: readonly string[],
): Promise<void> {
  await appendListed(databases, ids, Date.now());
  databases.change('DELETE FROM due_reads');
  databases.change('UPDATE products SET read_at_ms = ?', Date.now() - 3_600_000);
  service.asked.length = 0;
}

test('gives every fifth read to the product read longest ago, despite many requests', async () => {
  const { eventually, now, databases, service, queue } = setUp({ maxConcurrency: 1 });
  const old = service.ids.slice(0, 5);
  const requested = service.ids.slice(5);
  await readLongAgo(databases, service, old);
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: requested });
  queue.start();
  await eventually(() => service.asked.length >= 30, { what: 'thirty reads' });
  await queue.stop();
  const places = service.asked.slice(0, 25).map((id) => old.includes(id));
  expect(places.filter(Boolean)).toHaveLength(5);
  for (let i = 0; i < 25; i += 5) expect(places.slice(i, i + 5)).toContain(true);
});

test('gives its share to a product whose request waits, also among scheduled reads', async () => {
  const { eventually, now, databases, service, queue } = setUp({ maxConcurrency: 1, scheduled: 60 });
  const [oldest = ''] = service.ids;
  await readLongAgo(databases, service, service.ids);
  databases.change('UPDATE products SET read_at_ms = read_at_ms - 1 WHERE product_id = ?', oldest);
  await databases.requestReads(now(), 'not_stored', { productIds: [oldest] });
  databases.change('UPDATE due_reads SET not_before_ms = ?', now() + 3_600_000);
  queue.start();
  await eventually(() => service.asked.length >= 10, { what: 'ten reads' });
  await queue.stop();
  expect(service.asked.slice(0, 5)).toContain(oldest);
});

test('gives no share of the reads to products read recently', async () => {
  const { eventually, now, databases, service, queue } = setUp({ maxConcurrency: 1 });
  const fresh = service.ids.slice(0, 20);
  await readLongAgo(databases, service, fresh);
  databases.change('UPDATE products SET read_at_ms = ?', Date.now() - 60_000);
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: service.ids.slice(20) });
  queue.start();
  await eventually(() => service.asked.length >= 40, { what: 'forty reads' });
  await queue.stop();
  expect(service.asked.filter((id) => fresh.includes(id))).toEqual([]);
});

test('never reads a product twice at once, and reads it again if requested during its read', async () => {
  const { eventually, pass, now, databases, service, queue } = setUp();
  const [id] = service.ids;
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: [present(id)] });
  const answer = Promise.withResolvers<undefined>();
  service.onDetail = async () => {
    await answer.promise;
  };
  queue.start();
  await eventually(() => service.asked.length === 1, { what: 'the read is under way' });
  await databases.requestReads(now(), 'not_stored', { productIds: [present(id)] });
  await pass(8_000);
  expect(service.asked).toEqual([id]);
  expect(queue.readsUnderWay).toBe(1);

  answer.resolve(undefined);
  await eventually(() => service.asked.length === 2, { what: 'it is read again' });
  await eventually(() => databases.rows('SELECT 1 FROM due_reads').length === 0, {
    what: 'both requests are met',
  });
  await queue.stop();
  expect(service.asked).toEqual([id, id]);
});

test('reads other products while one read hangs', async () => {
  const { eventually, now, databases, service, queue } = setUp({ maxConcurrency: 2 });
  const [hanging, ...others] = service.ids;
  service.onDetail = (id, signal) => (id === hanging ? hang(signal) : undefined);
  await databases.requestReads(now() - 20_000, 'not_stored', { productIds: [present(hanging)] });
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: others });
  queue.start();
  await eventually(() => databases.rows('SELECT 1 FROM due_reads').length === 1, {
    what: 'the others are read',
  });
  await queue.stop();
});

test('ends hanging reads when it stops, and keeps their requests', async () => {
  const { eventually, now, databases, service, queue } = setUp({ maxConcurrency: 8 });
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: service.ids });
  service.onDetail = (_, signal) => hang(signal);
  queue.start();
  await eventually(() => service.asked.length >= 2, { what: 'reads hang' });
  await queue.stop();
  expect(queue.readsUnderWay).toBe(0);
  expect(databases.rows('SELECT 1 FROM due_reads')).toHaveLength(60);
  expect(databases.rows('SELECT 1 FROM due_reads WHERE failed_at_ms IS NOT NULL')).toEqual([]);
});

test('parks a product whose answer is too large, names it, and reads the others', async () => {
  const { eventually, now, databases, service, queue, throttle, failures } = setUp({ ids: productIds(12) });
  const large = new Set(service.ids.slice(0, 8));
  service.onDetail = (id) => {
    if (large.has(id)) throw serviceError('too_large');
  };
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: service.ids });
  queue.start();
  await eventually(() => databases.rows('SELECT 1 FROM due_reads').length === large.size, {
    what: 'the others are read',
  });
  await eventually(() => failures().length === large.size, { what: 'all failures are on record' });
  await queue.stop();
  expect(throttle.blocked).toBeNull();
  expect(failures().every(({ parked }) => parked === 1)).toBe(true);
  const { last_read_error: latest } = await databases.mirror.ask('status');
  expect(latest).toMatch(/^product \d+: /);
});

test('retries a failed read less and less often and parks a refused one', async () => {
  const { eventually, now, databases, service, queue, failures } = setUp();
  const [flaky, refused, odd] = service.ids;
  const kinds = {
    [present(flaky)]: 'unavailable',
    [present(refused)]: 'rejected',
    [present(odd)]: 'contract',
  } as const;
  service.onDetail = (id) => {
    throw serviceError(present(kinds[id]));
  };
  await databases.requestReads(now() - 10_000, 'not_stored', {
    productIds: [present(flaky), present(refused), present(odd)],
  });
  queue.start();
  await eventually(() => (failures()[0]?.attempts ?? 0) >= 4, { what: 'four attempts' });
  await queue.stop();
  const [flakyFailure, refusedFailure, oddFailure] = failures();
  expect(present(flakyFailure).waitMs).toBeGreaterThanOrEqual(2_000);
  expect(refusedFailure).toMatchObject({ attempts: 1, parked: 1 });
  expect(service.asked.filter((id) => id === refused)).toHaveLength(1);
  expect(present(oddFailure).attempts).toBeLessThanOrEqual(present(flakyFailure).attempts);
  expect(present(oddFailure).parked).toBe(0);
});

test('tries each product once in a resync before it retries any', async () => {
  const { eventually, now, databases, service, queue } = setUp({ ids: productIds(14) });
  await readLongAgo(databases, service, service.ids);
  const garbage = new Set(service.ids.slice(0, 8));
  service.onDetail = (id) => {
    if (garbage.has(id)) throw serviceError('contract');
  };
  await beginCatalogueRun({ mirror: databases.mirror, now, log }, 'operator');
  queue.start();
  await eventually(() => service.asked.length >= 20, { what: 'repeated reads' });
  await queue.stop();
  expect(service.asked.slice(0, 14).toSorted()).toEqual(service.ids);
  expect(service.asked.slice(14).every((id) => garbage.has(id))).toBe(true);
});

test('records an unexpected error like any other failure, and continues', async () => {
  const { eventually, now, databases, service, queue, failures } = setUp();
  const [broken, fine] = service.ids;
  service.onDetail = (id) => {
    if (id === broken) throw new TypeError('a bug');
  };
  await databases.requestReads(now() - 10_000, 'not_stored', {
    productIds: [present(broken), present(fine)],
  });
  queue.start();
  await eventually(() => databases.rows('SELECT 1 FROM due_reads').length === 1, {
    what: 'the other one is read',
  });
  await eventually(() => failures().length === 1, { what: 'the failure is on record' });
  await queue.stop();
  expect(failures()[0]).toMatchObject({ attempts: 1, parked: 0, waitMs: 1_000 });
});

test('pauses all reads while the mirror cannot record answers', async () => {
  const { eventually, pass, now, databases, service, queue } = setUp({ maxConcurrency: 4 });
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: service.ids });
  const full = () => Promise.reject(new SqliteFault('cannot_commit', 'the disk is full'));
  const failing = (['append', 'command'] as const).map((call) =>
    vi.spyOn(databases.mirror, call).mockImplementation(full),
  );
  queue.start();
  await eventually(() => service.asked.length > 0, { what: 'a first read' });
  await pass(700);
  expect(service.asked.length).toBeLessThanOrEqual(4 + 24);
  for (const call of failing) call.mockRestore();
  await eventually(() => databases.rows('SELECT 1 FROM due_reads').length === 0, { what: 'all are read' });
  await queue.stop();
});

test('pauses no longer because the clock steps back', async () => {
  const { eventually, pass, setBack, now, databases, service, queue } = setUp();
  const [id] = service.ids;
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: [present(id)] });
  const reopening = () => Promise.reject(new SqliteFault('closed', 'the clock was ahead, and steps back'));
  const failing = (['append', 'command'] as const).map((call) =>
    vi.spyOn(databases.mirror, call).mockImplementation(reopening),
  );
  queue.start();
  await eventually(() => service.asked.length > 0, { what: 'a read that cannot be stored' });
  databases.change('DELETE FROM due_reads');
  setBack(7 * 3_600_000);
  for (const call of failing) call.mockRestore();
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: service.ids });
  await pass(60_000);
  expect(databases.rows('SELECT 1 FROM due_reads')).toEqual([]);
  await queue.stop();
});

test('records no failure of a product for refused credentials', async () => {
  const { eventually, now, databases, service, queue, throttle, failures } = setUp();
  service.onDetail = () => {
    throw serviceError('credentials');
  };
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: service.ids });
  queue.start();
  await eventually(() => throttle.blocked?.kind === 'credentials', { what: 'the refusal' });
  await queue.stop();
  expect(failures()).toEqual([]);
  expect(service.asked.length).toBeLessThanOrEqual(2);
});

test('reports no failure of a product for a mirror that is opened again', async () => {
  const reported = vi.spyOn(log, 'error');
  onTestFinished(() => reported.mockRestore());
  const { eventually, now, databases, service, queue, failures } = setUp();
  const [id] = service.ids;
  await databases.requestReads(now() - 10_000, 'not_stored', { productIds: [present(id)] });
  const append = databases.mirror.append.bind(databases.mirror);
  let failing = 3;
  databases.mirror.append = (input) => {
    failing -= 1;
    return failing < 0
      ? append(input)
      : Promise.reject(new SqliteFault('closed', 'the mirror is opened again'));
  };
  queue.start();
  await eventually(() => failing === 0, { what: 'three answers are refused' });
  expect([failures(), reported.mock.calls]).toEqual([[], []]);
  await eventually(() => databases.rows('SELECT 1 FROM due_reads').length === 0, { what: 'it is read' });
  await queue.stop();
});
