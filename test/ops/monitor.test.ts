import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { Monitor } from '../../src/ops/monitor.ts';
import type { Operator } from '../../src/ops/shared/operator.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { delivery, detail, item, readInput, T0 } from '../mirror/mirror-file.ts';
import { beginCatalogueRun, endRun } from '../../src/reconcile/runs.ts';
import { eventually } from '../process/wait.ts';
import { log, newDatabases } from '../reconcile/mirror.ts';
import { heartbeat, refused, REPORT } from './reported.ts';
import { valueOf } from './metrics/exposition.ts';

function watched(now: () => number = Date.now) {
  const monitor = new Monitor();
  const databases = newDatabases();
  const operator: { blocked: Operator['blocked']; verificationBound: null } = {
    blocked: null,
    verificationBound: null,
  };
  const sampler = new StateSampler({ reader: databases.mirror, now, log });
  const watch = monitor.watch({ mirror: databases.mirror, sampler, operator, hasStream: false, now, log });
  onTestFinished(async () => {
    await sampler.stop();
    watch.stop();
  });
  return {
    monitor,
    databases,
    watch,
    sampler,
    operator,
    value: async (series: string) => valueOf(await monitor.registry.metrics(), series),
  };
}

const one = (id: string, qty = 5) => [{ id, levels: { 1: qty } }];

test('counts deliveries by answer and reason and times authentic ones, over restarts of the receiver', async () => {
  const { monitor, value } = watched(() => T0);
  for (const reason of ['not_stored', 'late', 'no_room'])
    expect(await value(`stock_mirror_deliveries_total{answer="503",reason="${reason}"}`)).toBe(0);
  const refusal = { reason: 'wrong_signature', status: 401, count: 1, lastAtMs: T0, seen: null } as const;
  const answers = { buckets: [0, 0, 1, ...REPORT.answers.buckets.slice(3)], sumSeconds: 0.003 };
  const accepted = (count: number) => ({ accepted: { count, lastAtMs: T0 } });
  monitor.receive(heartbeat(T0, { ...accepted(1), refused: [refusal], answers }));
  monitor.receive(heartbeat(T0, { ...accepted(3), refused: [refusal], answers }));
  monitor.receive(heartbeat(T0, { ...accepted(2), runId: 'the next run', answers }));
  expect(await value('stock_mirror_deliveries_total{answer="204",reason=""}')).toBe(5);
  expect(await value('stock_mirror_deliveries_total{answer="401",reason="wrong_signature"}')).toBe(1);
  expect(await value('stock_mirror_webhook_answer_seconds_bucket{le="0.002"}')).toBe(0);
  expect(await value('stock_mirror_webhook_answer_seconds_bucket{le="0.005"}')).toBe(1);
  expect(await value('stock_mirror_webhook_answer_seconds_bucket{le="+Inf"}')).toBe(1);
  expect(await value('stock_mirror_webhook_answer_seconds_sum')).toBe(0.003);
});

test('a mirror that starts next to a running receiver takes its earlier answers for no news', async () => {
  const monitor = new Monitor({ runsReceiver: false });
  const { mirror } = newDatabases();
  const plotted: object[] = [];
  const operator = { blocked: null, verificationBound: null };
  const watch = monitor.watch({
    mirror,
    sampler: null,
    operator,
    hasStream: false,
    now: () => T0,
    log,
    plotted: { answered: (answers) => void plotted.push(answers), asked: () => undefined },
  });
  onTestFinished(() => watch.stop());
  const refusal = (count: number) =>
    [{ reason: 'wrong_signature', status: 401, count, lastAtMs: T0, seen: null }] as const;
  const accepted = (count: number) => ({ count, lastAtMs: T0 });
  monitor.receive(heartbeat(T0, { accepted: accepted(100_000), lastSeq: 90_000, refused: refusal(50) }));
  monitor.receive(heartbeat(T0, { accepted: accepted(100_003), lastSeq: 90_003, refused: refusal(51) }));
  monitor.receive(heartbeat(T0, { accepted: accepted(2), lastSeq: 90_005, runId: 'the next run' }));
  expect(plotted).toMatchObject([
    { deliveries: 0, refused: 0 },
    { deliveries: 3, refused: 1 },
    { deliveries: 2, refused: 0 },
  ]);
  const metrics = await monitor.registry.metrics();
  expect(valueOf(metrics, 'stock_mirror_deliveries_total{answer="204",reason=""}')).toBe(100_005);
});

test('counts gaps, differences, dead letters, repairs and requests to the store', async () => {
  const { monitor, databases, watch, sampler, value } = watched(() => T0 + 60_000);
  const { mirror } = databases;
  const read = (levels: ReturnType<typeof one>, sentAtMs: number) =>
    mirror.append(readInput('10', detail('10', levels), { sentAtMs }));
  await read(one('100'), T0);
  await databases.deliver(delivery('a', item({ update_time: T0 + 10_000 })), T0 + 10_000);
  await databases.deliver(delivery('b', item({ old: 2, new: 1, update_time: T0 + 20_000 })), T0 + 20_000);
  await databases.deliver(new TextEncoder().encode('no JSON'), T0 + 21_000);
  await read(one('100', 8), T0 + 50_000);
  monitor.onAnswer('/v1/product/detail', 429);
  monitor.onAnswer('/v1/product/detail', null);
  for (const [series, expected] of [
    ['gaps_total{event="opened"}', 1],
    ['gaps_total{event="proved"}', 1],
    ['dead_letters_total', 1],
    ['drift_total{reason="gap"}', 1],
    ['repair_seconds_sum', 40],
    ['service_requests_total{endpoint="/v1/product/detail",status="429"}', 1],
    ['service_requests_total{endpoint="/v1/product/detail",status="none"}', 1],
    ['sellable{trusted="0"}', Number.NaN],
    ['sellable{trusted="1"}', Number.NaN],
  ] as const) {
    expect(await value(`stock_mirror_${series}`), series).toBe(expected);
  }
  sampler.start();
  const trusted = () => value('stock_mirror_sellable{trusted="1"}');
  await eventually(async () => !Number.isNaN(await trusted()), { what: 'a sample' });
  // No heartbeat vouches for them.
  expect([await trusted(), await value('stock_mirror_sellable{trusted="0"}')]).toEqual([0, 1]);
  expect(await value('stock_mirror_state{state="stale"}')).toBe(1);
  await watch.beat(Date.now());
  expect(await value('stock_mirror_state{state="catching_up"}')).toBe(1);
  expect(await value('stock_mirror_state{state="live"}')).toBe(0);
  expect(await value('stock_mirror_database_bytes')).toBeGreaterThan(0);
});

test('shows the age of the last full read, and its differences by reason', async () => {
  const { databases, sampler, value } = watched(() => T0 + 60_000);
  const { mirror } = databases;
  const runDeps = { mirror, now: () => T0 + 50_000, log };
  await mirror.append(readInput('10', detail('10', one('100')), { sentAtMs: T0 }));
  const run = await beginCatalogueRun(runDeps, 'operator');
  await mirror.append(readInput('10', detail('10', one('100', 8)), { sentAtMs: T0 + 50_000 }));
  await endRun(runDeps, run, null);
  const differences = (reason: string) => value(`stock_mirror_full_read_differences{reason="${reason}"}`);
  expect(await differences('lost_tail')).toBe(Number.NaN);
  sampler.start();
  await eventually(async () => !Number.isNaN(await differences('gap')), { what: 'a sample' });
  expect([await differences('lost_tail'), await differences('gap')]).toEqual([1, 0]);
  expect(await value('stock_mirror_full_read_age_seconds')).toBe(10);
});

test('counts refusals of one reason by their status', async () => {
  const { monitor, value } = watched(() => T0);
  const refusal = (status: number, count: number) =>
    ({ reason: 'cut_off', status, count, lastAtMs: T0, seen: null }) as const;
  monitor.receive(heartbeat(T0, { refused: [refusal(0, 2), refusal(408, 3)] }));
  monitor.receive(heartbeat(T0, { refused: [refusal(0, 2), refusal(408, 4)] }));
  expect(await value('stock_mirror_deliveries_total{answer="0",reason="cut_off"}')).toBe(2);
  expect(await value('stock_mirror_deliveries_total{answer="408",reason="cut_off"}')).toBe(4);
});

test('takes the last webhook of the store, and no test delivery', async () => {
  let nowMs = T0;
  const { databases, watch, value } = watched(() => nowMs);
  const age = async () => {
    await watch.beat(nowMs);
    return value('stock_mirror_last_delivery_age_seconds');
  };
  await databases.deliver(delivery('a', item()), nowMs);
  nowMs += 60_000;
  await databases.deliver(delivery('b', item()), nowMs - 1_000, 'test');
  expect(await age()).toBe(60);
  await databases.deliver(delivery('c', item()), nowMs - 1_000);
  expect(await age()).toBe(1);
});

test('shows a cause in state and metric while its reason lasts', async () => {
  const { watch, monitor, sampler, operator, value } = watched();
  sampler.start();
  operator.blocked = { kind: 'credentials', message: 'refused', sinceMs: 0 };
  refused(monitor, Date.now(), { wrong_signature: 3, missing_signature: 3 });
  const { causes } = await watch.shown();
  const holds = (code: string) => causes.find((cause) => cause.code === code);
  expect(holds('credentials')).toMatchObject({ severity: 'critical' });
  expect(holds('requests_refused')?.message).toMatch(
    /refused 3 requests with a wrong signature, 3 requests without/,
  );
  expect(await value('stock_mirror_cause{code="credentials"}')).toBe(1);
  expect(await value('stock_mirror_cause{code="webhooks_missing"}')).toBe(0);
  expect(await value('stock_mirror_state{state="stale"}')).toBe(1);
  operator.blocked = null;
  expect(await value('stock_mirror_cause{code="credentials"}')).toBe(0);
});

test('logs no cause and no state while a start takes less than 10 s', () => {
  let nowMs = T0;
  const logged: unknown[] = [];
  const monitor = new Monitor();
  const watch = monitor.watch({
    mirror: newDatabases().mirror,
    sampler: null,
    operator: { blocked: null, verificationBound: null },
    hasStream: false,
    now: () => nowMs,
    log: pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line)) }),
  });
  onTestFinished(() => watch.stop());
  const wait = (ms: number): void => {
    nowMs += ms;
    monitor.receive(heartbeat(nowMs));
  };
  wait(9_000);
  expect(logged).toEqual([]);
  wait(1_000);
  expect(logged).toMatchObject([{ cause: 'starting' }, { state: 'stale' }]);
});
