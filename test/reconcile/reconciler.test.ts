import { expect, test } from 'vitest';
import { SqliteFault } from '../../src/sqlite/errors.ts';
import { missedAt } from '../core/builders.ts';
import { present } from '../shared/present.ts';
import {
  fakeService,
  hang,
  newReconciler,
  newDatabases,
  productIds,
  recordFirstRead,
  serviceError,
} from './mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

function setUp(ids: readonly string[] = productIds(30)) {
  const { now, eventually, pass } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, ids);
  const reconciler = newReconciler({ mirror: databases.mirror, client: service, now });
  const resync = () => reconciler.resync(null, null);
  const state = async (id: number) => present(await databases.mirror.ask('runById', { id }));
  return { now, eventually, pass, databases, service, reconciler, resync, state };
}

test('gives two simultaneous resync requests the same run', async () => {
  const { resync, databases } = setUp();
  const [one, two] = await Promise.all([resync(), resync()]);
  expect(one.joined).toBe(false);
  expect(two).toEqual({ ...one, joined: true });
  expect(databases.rows('SELECT 1 FROM runs')).toHaveLength(1);
});

test('asks two threads once each between an operator’s request and the first read', async () => {
  const { eventually, now, reconciler, resync, service, databases } = setUp();
  await recordFirstRead(databases, now());
  const asked: string[] = [];
  const ask = databases.mirror.ask.bind(databases.mirror);
  databases.mirror.ask = (async (name: 'runById', ...args: [never]) => {
    asked.push(name);
    return ask(name, ...args);
  }) as typeof ask;
  const append = databases.mirror.append.bind(databases.mirror);
  databases.mirror.append = (input) => {
    asked.push(input.kind);
    return append(input);
  };
  const listed = new Promise<readonly string[]>((resolve) => {
    service.onList = () => resolve([...asked]);
  });
  reconciler.start();
  await eventually(() => asked.includes('areBundlesDue'), { what: 'the first tick' });
  asked.length = 0;
  const run = await resync();
  expect(await listed).toEqual(['catalogueOutlook', 'run_begun']);
  expect(run).toEqual({ ...(await ask('runById', { id: run.id })), joined: false });
});

test('tries a refused product once for each resync, also when the run begins slowly', async () => {
  const { now, eventually, pass, reconciler, resync, service, state, databases } = setUp(productIds(3));
  const [refused] = service.ids;
  service.onDetail = (productId) => {
    if (productId === refused) throw serviceError('rejected');
  };
  const timesAsked = (): number => service.asked.filter((id) => id === refused).length;
  const untilEnds = ({ id }: { id: number }) =>
    eventually(async () => (await state(id)).state === 'done', { what: `run ${id} ends` });
  await recordFirstRead(databases, now());
  reconciler.start();
  await untilEnds(await resync());
  expect(timesAsked()).toBe(1);

  const append = databases.mirror.append.bind(databases.mirror);
  databases.mirror.append = async (input) => {
    if (input.kind === 'run_begun') await new Promise((resolve) => setTimeout(resolve, 500));
    return append(input);
  };
  const second = resync();
  await pass(1_000);
  await untilEnds(await second);
  expect(timesAsked()).toBe(2);
});

test('counts values and differences, also those of the first moments of a run', async () => {
  const { eventually, pass, reconciler, resync, service, state, databases } = setUp();
  reconciler.start();
  const first = await resync();
  await eventually(async () => (await state(first.id)).state === 'done', { what: 'the first run ends' });
  await pass(5_000);
  databases.change('UPDATE stock_levels SET qty = qty + 1');
  service.asked.length = 0;
  const second = await resync();
  await eventually(async () => (await state(second.id)).state === 'done', { what: 'the second run ends' });
  expect(await state(second.id)).toMatchObject({
    total: 30,
    done: 30,
    compared: 60,
    differences: { lost_tail: 30 },
  });
});

test('continues a run after a moment in which the mirror fails', async () => {
  const { eventually, reconciler, resync, state, databases } = setUp(productIds(150));
  const command = databases.mirror.command.bind(databases.mirror);
  let failures = 0;
  databases.mirror.command = ((name: 'checkpointRun', args: never) => {
    if (name !== 'checkpointRun' || failures > 0) return command(name, args);
    failures += 1;
    return Promise.reject(new SqliteFault('busy', 'another process holds the lock'));
  }) as typeof command;
  reconciler.start();
  const run = await resync();
  await eventually(async () => (await state(run.id)).state !== 'running', { what: 'the run ends' });
  expect(failures).toBe(1);
  expect(await state(run.id)).toMatchObject({ state: 'done', done: 150 });
});

test('stops while a list and reads hang', async () => {
  const { eventually, reconciler, resync, service } = setUp(productIds(150));
  service.onDetail = (_, signal) => hang(signal);
  const list = service.listProducts.bind(service);
  let lists = 0;
  service.listProducts = async (request, options) => {
    const answer = await list(request, options);
    lists += 1;
    if (lists > 1) await hang(options?.signal);
    return answer;
  };
  reconciler.start();
  await resync();
  await eventually(() => lists === 2 && service.asked.length >= 3, {
    what: 'reads and the second page hang',
  });
  await reconciler.stop();
});

test('begins the first read of a new mirror, and one run after each missed period, without a request', async () => {
  const { now, eventually, pass, reconciler, service, databases } = setUp();
  const runs = () =>
    databases.rows<{ kind: string; state: string }>('SELECT kind, state FROM runs ORDER BY id');
  const untilDone = (count: number) =>
    eventually(() => runs().length === count && runs().every(({ state }) => state === 'done'), {
      what: `${count} runs are done`,
    });
  reconciler.start();
  await untilDone(1);
  await pass(60_000);
  expect(runs()).toEqual([{ kind: 'initial', state: 'done' }]);
  service.asked.length = 0;
  await databases.mirror.append(missedAt(now()));
  await untilDone(2);
  await pass(60_000);
  expect(runs().map(({ kind }) => kind)).toEqual(['initial', 'downtime']);
  expect(service.asked.filter((what) => !what.startsWith('list')).toSorted()).toEqual(service.ids);
});
