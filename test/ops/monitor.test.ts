/** What a running mirror's doings make of its metrics, samples and alarms. */
import { expect, onTestFinished, test } from 'vitest';
import { Monitor, type Watch } from '../../src/ops/monitor.ts';
import type { Operator } from '../../src/ops/shared/operator.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { beginCatalogueRun, endRun } from '../../src/reconcile/runs.ts';
import { delivery, detail, item, readInput, T0 } from '../mirror/mirror-file.ts';
import { eventually } from '../process/wait.ts';
import { fakeService, log, newStore, serviceError, type OpenedStore } from '../reconcile/mirror.ts';
import { valueOf } from './metrics/exposition.ts';

interface Watched {
  readonly monitor: Monitor;
  readonly store: OpenedStore;
  readonly watch: Watch;
  readonly observer: ReturnType<Monitor['observer']>;
  readonly sampler: StateSampler;
  readonly operator: { -readonly [K in 'blocked' | 'readsUnderWay']: Operator[K] };
  /** The value of a series now. */
  readonly value: (series: string) => Promise<number | null>;
}

function watched(now: () => number = Date.now): Watched {
  const monitor = new Monitor();
  const store = newStore();
  const operator: Watched['operator'] = { blocked: null, readsUnderWay: 0 };
  const sampler = new StateSampler({ reader: store.reader, now, log });
  const watch = monitor.watch({ store, sampler, operator, now, log });
  onTestFinished(async () => {
    await sampler.stop();
    await watch.stop();
  });
  return {
    monitor,
    store,
    watch,
    observer: monitor.observer(now),
    sampler,
    operator,
    value: async (series) => valueOf(await monitor.registry.metrics(), series),
  };
}

const one = (id: string, qty = 5) => [{ id, levels: { 1: qty } }];

test('deliveries: by answer, by reason, how long they took, how late they came', async () => {
  const { observer, value } = watched(() => T0 + 700);
  const refused = { tookMs: 4 };
  observer.committed(delivery('a', item({ update_time: T0 })), 3);
  observer.refused({ ...refused, status: 401, reason: 'wrong_signature' });
  observer.refused({ ...refused, status: 413, reason: 'too_large' });
  observer.refused({ ...refused, status: 503, reason: 'no_room' });
  observer.refused({ ...refused, status: 503, reason: 'not_stored', tookMs: 801 });
  expect(await value('stock_mirror_deliveries_total{answer="204"}')).toBe(1);
  expect(await value('stock_mirror_deliveries_total{answer="401"}')).toBe(1);
  expect(await value('stock_mirror_deliveries_total{answer="413"}')).toBe(1);
  expect(await value('stock_mirror_deliveries_total{answer="503"}')).toBe(2);
  expect(await value('stock_mirror_rejected_total{reason="wrong_signature"}')).toBe(1);
  // Those of strangers say nothing of how quick the mirror is.
  expect(await value('stock_mirror_webhook_answer_seconds_count')).toBe(2);
  expect(await value('stock_mirror_webhook_answer_seconds_bucket{le="0.005"}')).toBe(1);
  expect(await value('stock_mirror_webhook_answer_seconds_bucket{le="0.8"}')).toBe(1);
  expect(await value('stock_mirror_webhook_answer_seconds_bucket{le="1"}')).toBe(2);
  expect(await value('stock_mirror_delivery_lag_seconds_sum')).toBe(0.7);
  expect(await value('stock_mirror_last_delivery_age_seconds')).toBe(0);
});

test('commits, merges, gaps, differences and repairs', async () => {
  const { monitor, store, watch, sampler, value } = watched(() => T0 + 60_000);
  monitor.onCommit({ lastSeq: 1, deliveries: 40, tookMs: 7, error: null });
  monitor.onCommit({ lastSeq: 1, deliveries: 1, tookMs: 7, error: { kind: 'busy', message: 'x' } });
  expect(await value('stock_mirror_commit_inputs_sum')).toBe(41);
  expect(await value('stock_mirror_commit_seconds_bucket{le="0.01"}')).toBe(2);
  expect(await value('stock_mirror_commits_total{result="failed"}')).toBe(1);

  const { writer } = store;
  const read = (levels: ReturnType<typeof one>, sentAtMs: number) =>
    writer.append(readInput('10', detail('10', levels), { sentAtMs, s0: writer.s0 }));
  await read(one('100'), T0);
  await store.deliver(delivery('a', item({ update_time: T0 + 10_000 })), T0 + 10_000);
  await store.deliver(delivery('b', item({ old: 2, new: 1, update_time: T0 + 20_000 })), T0 + 20_000);
  await store.deliver(new TextEncoder().encode('no JSON'), T0 + 21_000);
  await writer.append({
    kind: 'request_reads',
    atMs: T0 + 30_000,
    reason: 'operator',
    productIds: ['10'],
    variantIds: [],
  });
  await read(one('100', 8), T0 + 50_000);
  expect(await value('stock_mirror_gaps_total{event="opened"}')).toBe(1);
  expect(await value('stock_mirror_gaps_total{event="proved"}')).toBe(1);
  expect(await value('stock_mirror_dead_letters_total')).toBe(1);
  expect(await value('stock_mirror_drift_total{cause="gap"}')).toBeGreaterThan(0);
  expect(await value('stock_mirror_repair_seconds_sum{reason="gap"}')).toBe(40);
  expect(await value('stock_mirror_repair_seconds_sum{reason="operator"}')).toBeCloseTo(20, 0);

  expect(await value('stock_mirror_changes_total{branch="4c gap"}')).toBe(0);
  expect(await value('stock_mirror_suspect_levels')).toBe(Number.NaN);
  watch.start();
  sampler.start();
  await eventually(async () => (await value('stock_mirror_changes_total{branch="4c gap"}')) === 1, {
    what: 'the branches are counted',
  });
  expect(await value('stock_mirror_changes_total{branch="4c follows"}')).toBe(1);
  expect(await value('stock_mirror_levels_total{branch="new level"}')).toBe(1);
  expect(await value('stock_mirror_products')).toBe(1);
  expect(await value('stock_mirror_inbox_rows')).toBe(3);
  expect(await value('stock_mirror_state{state="stale"}')).toBe(1);
  expect(await value('stock_mirror_state{state="live"}')).toBe(0);
  expect(await value('stock_mirror_suspect_levels')).not.toBe(Number.NaN);
  expect(await value('stock_mirror_database_bytes')).toBeGreaterThan(0);
});

test('what the service answers, and a run from its beginning to its end', async () => {
  const { monitor, store, watch, sampler, value } = watched();
  const service = fakeService(Date.now, ['10']);
  const client = monitor.observe(service);
  await client.productDetail('10');
  await client.productDetail('11');
  await client.listProducts();
  service.onDetail = (id) => {
    throw serviceError(id === '10' ? 'unavailable' : 'rejected');
  };
  await expect(client.productDetail('10')).rejects.toThrow('made up');
  await expect(client.productDetail('11')).rejects.toThrow('made up');
  monitor.onAnswer('/oauth/token', 200);
  monitor.onAnswer('/v1/product/detail', 429);
  monitor.onAnswer('/v1/product/detail', null);
  for (const [series, expected] of [
    ['stock_mirror_reads_total{outcome="found"}', 1],
    ['stock_mirror_reads_total{outcome="not_found"}', 1],
    ['stock_mirror_reads_total{outcome="unavailable"}', 1],
    ['stock_mirror_reads_total{outcome="rejected"}', 1],
    ['stock_mirror_list_pages_total{outcome="found"}', 1],
    ['stock_mirror_retries_total', 1],
    ['stock_mirror_token_requests_total', 1],
    ['stock_mirror_service_requests_total', 3],
    ['stock_mirror_pauses_total', 1],
  ] as const) {
    expect(await value(series), series).toBe(expected);
  }

  // One that has ended before belongs to an earlier process.
  const deps = { store, now: Date.now, log };
  await endRun(deps, await beginCatalogueRun(deps, 'initial'), null);
  const run = await beginCatalogueRun(deps, 'scheduled');
  await endRun(deps, run, null);
  const open = await beginCatalogueRun(deps, 'operator');
  watch.start();
  sampler.start();
  await endRun(deps, open, 'why');
  await eventually(
    async () => (await value('stock_mirror_runs_total{kind="operator",result="failed"}')) === 1,
    {
      what: 'the run is counted',
    },
  );
  expect(await value('stock_mirror_runs_total{kind="scheduled",result="done"}')).toBe(0);
  expect(await value('stock_mirror_runs_total{kind="initial",result="done"}')).toBe(0);
});

test('alarms stand while their reason does, in the status and as a metric', async () => {
  const { watch, observer, sampler, operator, value } = watched();
  watch.start();
  sampler.start();
  operator.blocked = { kind: 'credentials', message: 'refused', untilMs: null };
  const refused = { tookMs: 1, status: 401 } as const;
  for (let n = 0; n < 3; n += 1) observer.refused({ ...refused, reason: 'wrong_signature' });
  for (let n = 0; n < 3; n += 1) observer.refused({ ...refused, reason: 'missing_signature' });
  await eventually(() => watch.alarms.current.length === 2, { what: 'both stand' });
  expect(watch.alarms.current.map(({ kind }) => kind)).toEqual(['bad_signatures', 'credentials']);
  // Strangers who sign nothing do not count.
  expect(watch.alarms.current[0]?.message).toMatch(/^3 webhooks /);
  expect(await value('stock_mirror_alarm{kind="credentials"}')).toBe(1);
  expect(await value('stock_mirror_alarm{kind="silence"}')).toBe(0);
  expect(await value('stock_mirror_blocked{kind="credentials"}')).toBe(1);
  operator.blocked = null;
  await eventually(() => watch.alarms.current.length === 1, { what: 'one is over' });
  expect(await value('stock_mirror_alarm{kind="credentials"}')).toBe(0);
});
