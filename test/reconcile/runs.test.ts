import { describe, expect, test } from 'vitest';
import { recordFailure } from '../../src/reconcile/product-reader.ts';
import {
  beginCatalogueRun,
  beginProductRun,
  beginRunAfterBarrier,
  endRun,
  followRun,
} from '../../src/reconcile/runs.ts';
import type { RunKind, Run } from '../../src/core/runs.ts';
import { missedAt } from '../core/builders.ts';
import { present } from '../shared/present.ts';
import { readInput } from '../mirror/mirror-file.ts';
import { appendListed, log, newDatabases, serviceError } from './mirror.ts';

function setUp() {
  const databases = newDatabases();
  const time = { nowMs: Date.now() };
  const deps = { mirror: databases.mirror, now: () => time.nowMs, log };
  const begin = (kind: RunKind) => beginCatalogueRun(deps, kind);
  const follow = (run: Run) => followRun(deps, run);
  const reload = async (run: Run): Promise<Run> =>
    present(await databases.mirror.ask('runById', { id: run.id }));
  const listed = async (run: Run): Promise<void> => {
    await databases.mirror.command('checkpointRun', { ...run, listOffset: 0, listDone: true, total: 0 });
  };
  const know = (productIds: readonly string[]) => appendListed(databases, productIds, time.nowMs);
  /** @param answeredAtMs the last answer of the store. */
  const fail = (productId: string, how: 'rejected' | 'unavailable', answeredAtMs = 0) =>
    recordFailure(
      { mirror: databases.mirror, now: deps.now, random: () => 1 },
      { productId, priority: 0 },
      serviceError(how),
      answeredAtMs,
    );
  return { databases, time, deps, begin, follow, reload, listed, know, fail };
}

test.each([
  ['operator', 'operator', 'joins'],
  ['initial', 'operator', 'joins'],
  ['downtime', 'operator', 'joins'],
  ['downtime', 'scheduled', 'joins'],
  ['operator', 'scheduled', 'joins'],
  ['scheduled', 'scheduled', 'joins'],
  ['scheduled', 'operator', 'runs next to it'],
  ['initial', 'initial', 'takes over'],
  ['downtime', 'downtime', 'takes over'],
  ['scheduled', 'downtime', 'takes over'],
  ['operator', 'downtime', 'runs next to it'],
] as const)('with a run of kind %s in progress, %s %s', async (first, second, what) => {
  const { begin, reload } = setUp();
  const one = await begin(first);
  const two = await begin(second);
  const after = await reload(one);
  if (what === 'joins') expect(two.id).toBe(one.id);
  else expect(two).toMatchObject({ kind: second, state: 'running' });
  expect(after.state).toBe(what === 'takes over' ? 'failed' : 'running');
  if (what === 'takes over') expect(after.error).toContain('later catalogue scan');
});

test.each([
  ['operator', true],
  ['scheduled', false],
] as const)('%s joins a scan and retries failed reads: %s', async (kind, isTried) => {
  const { databases, begin, know, fail } = setUp();
  await know(['1']);
  await begin('downtime');
  await fail('1', 'rejected');
  await begin(kind);
  expect(
    databases.rows('SELECT 1 FROM due_reads WHERE failed_at_ms IS NOT NULL AND parked = 0'),
  ).toHaveLength(isTried ? 1 : 0);
});

describe('after a missed period', () => {
  const QUARTER_HOUR = 15 * 60_000;

  function setUpMissed() {
    const set = setUp();
    const { deps, databases, time } = set;
    const check = () => beginRunAfterBarrier(deps);
    const missed = async (): Promise<void> => {
      time.nowMs += 1_000;
      await databases.mirror.append(missedAt(time.nowMs));
    };
    const runs = () => databases.rows<{ kind: RunKind }>('SELECT kind FROM runs').map(({ kind }) => kind);
    return { ...set, check, missed, runs };
  }

  test('a mirror that has read nothing begins one first read', async () => {
    const { check, runs } = setUpMissed();
    const run = present(await check());
    expect(run.readAfterMs - run.startedAtMs).toBe(2_000);
    expect([await check(), runs()]).toEqual([null, ['initial']]);
  });

  test('one run begins for each, a first read continues, and no read before the barrier counts', async () => {
    const { check, missed, runs, databases } = setUpMissed();
    await check();
    await missed();
    const barrierMs = 10_000 + Date.now();
    databases.change('UPDATE mirror_state SET trusted_after_ms = ?', barrierMs);
    expect(present(await check()).readAfterMs).toBe(barrierMs);
    expect([await check(), runs()]).toEqual([null, ['initial', 'downtime']]);
    expect(databases.rows(`SELECT 1 FROM runs WHERE state = 'running'`)).toHaveLength(2);
  });

  test('a later resync covers it; one that began before does not', async () => {
    const { begin, check, missed, runs, time } = setUpMissed();
    await begin('operator');
    await missed();
    expect(present(await check()).kind).toBe('initial');
    await missed();
    time.nowMs += 2_000;
    await begin('scheduled');
    expect(runs()).toEqual(['operator', 'initial']);
    expect(present(await check()).kind).toBe('downtime');
  });

  test('a run that failed is repeated after a quarter of an hour', async () => {
    const { check, deps, runs, time } = setUpMissed();
    await endRun(deps, present(await check()), 'too many products could not be read');
    time.nowMs += QUARTER_HOUR - 1;
    expect(await check()).toBeNull();
    time.nowMs += 1;
    await check();
    expect(runs()).toEqual(['initial', 'initial']);
  });

  test('pruning keeps the run that shows that everything was read', async () => {
    const { begin, check, deps, runs, databases, time } = setUpMissed();
    await endRun(deps, present(await check()), null);
    time.nowMs += 3_000;
    await endRun(deps, await begin('scheduled'), null);
    const prune = { beforeMs: time.nowMs + 1, afterMs: Infinity, limit: 10 };
    await databases.mirror.command('prune', prune);
    expect([await check(), runs()]).toEqual([null, ['scheduled']]);
  });
});

test('joins no run that has nothing left to read', async () => {
  const { databases, begin, listed, know, reload, time } = setUp();
  await know(['1']);
  const left = await begin('operator');
  await listed(left);
  databases.change('UPDATE products SET read_at_ms = ?', time.nowMs);
  time.nowMs += 1_000;
  expect(await begin('operator')).toMatchObject({ joined: false, state: 'running' });
  expect(await reload(left)).toMatchObject({ state: 'done' });
});

test('ends a run when its list is complete and every product was read since its start', async () => {
  const { databases, time, begin, follow, reload, listed, know } = setUp();
  await know(['1', '2']);
  const run = await begin('operator');
  expect(await follow(run)).toBe(false);
  await listed(run);
  expect(await follow(await reload(run))).toBe(false);
  expect(await reload(run)).toMatchObject({ total: 2, done: 0 });
  databases.change(`UPDATE products SET read_at_ms = ? WHERE product_id = '1'`, time.nowMs - 1);
  databases.change(`UPDATE products SET read_at_ms = ? WHERE product_id = '2'`, time.nowMs);
  expect(await follow(await reload(run))).toBe(false);
  expect(await reload(run)).toMatchObject({ total: 2, done: 1 });
  databases.change(`UPDATE products SET read_at_ms = ? WHERE product_id = '1'`, time.nowMs);
  expect(await follow(await reload(run))).toBe(true);
  expect(await reload(run)).toMatchObject({ state: 'done', total: 2, done: 2, failed: 0, error: null });
  expect(await databases.mirror.ask('status')).toMatchObject({ last_full_sync_at: time.nowMs });
});

describe('after a refusal', () => {
  async function refuse(refused: number, of: number) {
    const set = setUp();
    const ids = Array.from({ length: of }, (_, i) => String(i + 1));
    await set.know(ids);
    const run = await set.begin('operator');
    await set.listed(run);
    set.databases.change('UPDATE products SET read_at_ms = ?', Date.now() + 1_000);
    for (const id of ids.slice(0, refused)) {
      set.databases.change('UPDATE products SET read_at_ms = 0 WHERE product_id = ?', id);
      await set.fail(id, 'rejected');
    }
    expect(await set.follow(await set.reload(run))).toBe(true);
    return { ...set, ended: await set.reload(run) };
  }

  test.each([
    ['one product', 1, 2],
    ['one in twenty', 2, 40],
  ])('of %s, a scan is done and counts it as failed', async (_, refused, of) => {
    const { ended, databases, time } = await refuse(refused, of);
    expect(ended).toMatchObject({ state: 'done', done: of - refused, failed: refused, error: null });
    expect(await databases.mirror.ask('status')).toMatchObject({ last_full_sync_at: time.nowMs });
  });

  test.each([
    ['more than that', 3, 40],
    ['everything', 1, 1],
  ])('of %s, a scan fails', async (_, refused, of) => {
    const { ended, databases } = await refuse(refused, of);
    expect(ended).toMatchObject({ state: 'failed', done: of - refused, failed: refused });
    expect(ended.error).toContain(`${refused} product`);
    expect(await databases.mirror.ask('status')).toMatchObject({ last_full_sync_at: null });
  });

  test('of a product about to be retried, a scan waits', async () => {
    const { databases, begin, follow, reload, listed, know, fail } = setUp();
    await know(['1', '2']);
    await fail('1', 'rejected');
    const run = await begin('scheduled');
    await listed(run);
    databases.change(`UPDATE products SET read_at_ms = ? WHERE product_id = '2'`, Date.now() + 1_000);
    expect(await follow(await reload(run))).toBe(false);
    await fail('1', 'rejected');
    expect(await follow(await reload(run))).toBe(true);
  });
});

test('takes no progress of a run of an earlier file', async () => {
  const { databases, begin } = setUp();
  const run = await begin('operator');
  const ofEarlier = { id: run.id, startedAtMs: run.startedAtMs - 1, nowMs: run.startedAtMs };
  expect(await databases.mirror.command('progressRun', ofEarlier)).toBeNull();
  expect(
    await databases.mirror.command('progressRun', { ...ofEarlier, startedAtMs: run.startedAtMs }),
  ).not.toBeNull();
});

test('ends a run without a product that keeps failing while others do not', async () => {
  const { time, begin, follow, reload, listed, know, fail } = setUp();
  await know(['1']);
  const run = await begin('operator');
  await listed(run);
  for (let n = 1; n < 10; n += 1) await fail('1', 'unavailable', time.nowMs + 1);
  expect(await follow(await reload(run))).toBe(false);
  await fail('1', 'unavailable', time.nowMs + 1);
  expect(await follow(await reload(run))).toBe(true);
  expect(await reload(run)).toMatchObject({ state: 'failed', failed: 1 });
});

test('gives up no product and ends no run while the store answers nothing', async () => {
  const { time, begin, follow, reload, listed, know, fail } = setUp();
  await know(['1', '2']);
  const run = await begin('initial');
  await listed(run);
  time.nowMs += 10_000;
  for (let n = 1; n < 100; n += 1) await fail('1', 'unavailable');
  expect(await follow(await reload(run))).toBe(false);
  expect(await reload(run)).toMatchObject({ state: 'running', failed: 0 });
});

test('keeps a product given up until a read succeeds', async () => {
  const { databases, time, know, fail } = setUp();
  await know(['1']);
  const givenUp = () => databases.rows('SELECT product_id FROM due_reads WHERE given_up = 1');
  const refused = async (): Promise<void> => {
    await fail('1', 'rejected', (time.nowMs += 5));
    await fail('1', 'unavailable', (time.nowMs += 5));
    await databases.mirror.command('retryFailures', undefined);
    expect(givenUp()).toEqual([{ product_id: '1' }]);
  };
  await refused();
  await databases.mirror.append(readInput('1', null, { sentAtMs: time.nowMs }));
  expect(givenUp()).toEqual([]);
  await refused();
});

test('reads named products that the mirror has never held', async () => {
  const { databases, deps, time, follow, reload } = setUp();
  const run = await beginProductRun(deps, ['4', '5']);
  expect(run).toMatchObject({ kind: 'products', total: 2, listDone: true });
  expect(await follow(run)).toBe(false);
  databases.change(`DELETE FROM due_reads WHERE product_id = '4'`);
  expect(await follow(run)).toBe(false);
  expect(await reload(run)).toMatchObject({ done: 1 });
  databases.change('DELETE FROM due_reads');
  time.nowMs += 1;
  expect(await follow(await reload(run))).toBe(true);
  expect(await reload(run)).toMatchObject({ done: 2 });
});

test('fails a run of named products when the store does not have one of them', async () => {
  const { databases, deps, time, know, follow, reload } = setUp();
  await know(['1', '2']);
  const run = await beginProductRun(deps, ['1', '99999999']);
  databases.change('DELETE FROM due_reads');
  time.nowMs += 1;
  expect(await follow(run)).toBe(true);
  expect(await reload(run)).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('the store has no product 99999999:'),
  });

  const present = await beginProductRun(deps, ['1', '2']);
  databases.change('DELETE FROM due_reads');
  time.nowMs += 1;
  expect(await follow(present)).toBe(true);
  expect(await reload(present)).toMatchObject({ state: 'done', error: null });
});
