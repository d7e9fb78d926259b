/** `POST /api/prune`: old rows go a portion at a time, told in the log once. */
import { expect, test, vi } from 'vitest';
import { createRetention } from '../../src/mirror/retention.ts';
import { checkAnswer } from '../contract/openapi.ts';
import { newStore } from '../reconcile/mirror.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import { startOps, TOKEN, type Ops } from './harness.ts';

const DAY_MS = 24 * 60 * 60_000;
const JSON_TYPE = { 'content-type': 'application/json' };

async function prune(ops: Ops, body: object): Promise<Record<string, unknown>> {
  const document = (await ops.ask('/openapi.json')).json as object;
  const { status, headers, json } = await ops.ask('/api/prune', {
    body: JSON.stringify(body),
    headers: JSON_TYPE,
  });
  checkAnswer(document, { method: 'POST', path: '/api/prune', status, headers, body: json });
  expect(status).toBe(200);
  return json as Record<string, unknown>;
}

test('what is older than RETENTION_DAYS goes, or than the days asked for; stock stays', async () => {
  const store = newStore();
  const ops = await startOps(store);
  const nowMs = Date.now();
  for (const [n, daysAgo] of [40, 35, 20, 0].entries()) {
    const atMs = nowMs - daysAgo * DAY_MS;
    const body = delivery(`d${n}`, item({ old: 9 - n, new: 8 - n, update_time: atMs }));
    await store.writer.appendDelivery(body, atMs);
  }
  const none = { quarantine: 0, runs: 0, complete: true };
  expect(await prune(ops, {})).toEqual({ days: 30, log: 2, changes: 2, ...none });
  expect(await prune(ops, {})).toEqual({ days: 30, log: 0, changes: 0, ...none });
  expect(await prune(ops, { days: 5 })).toEqual({ days: 5, log: 1, changes: 1, ...none });
  expect(store.rows('SELECT available_qty FROM mirror_stock')).toEqual([{ available_qty: 5 }]);
});

test('much is deleted by several requests, and logged once', async () => {
  const store = newStore();
  store.change('UPDATE mirror_state SET applied_seq = 12001');
  store.changeLog(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12001)
     INSERT INTO log (seq, kind, at_ms, payload) SELECT i, 'delivery', 1000 + i, x'' FROM n`,
  );
  const info = vi.fn();
  const retention = { writer: store.writer, now: Date.now, log: { info } as never, retentionDays: 30 };
  const ops = await startOps(store, { pruner: createRetention(retention) });
  const first = await prune(ops, { days: 7 });
  expect(first).toMatchObject({ complete: false });
  expect(first['log']).toBeGreaterThanOrEqual(500);
  expect(info).not.toHaveBeenCalled();
  let deleted = Number(first['log']);
  for (let complete = false; !complete;) {
    const next = await prune(ops, { days: 7 });
    deleted += Number(next['log']);
    complete = next['complete'] === true;
  }
  // Positions go on from the last entry, whatever its age.
  expect(deleted).toBe(12_000);
  expect(info.mock.calls).toEqual([
    [{ days: 7, log: 12_000, changes: 0, quarantine: 0, runs: 0 }, 'pruned at an operator’s request'],
  ]);
});

test('who may not is refused, and what is meant must be said rightly', async () => {
  const ops = await startOps(newStore(), { token: TOKEN });
  const order = (body: string, headers: Record<string, string>) =>
    ops.ask('/api/prune', { body, headers: { ...JSON_TYPE, ...headers } });
  expect(await order('{}', {})).toMatchObject({ status: 401 });
  const bearer = { authorization: `Bearer ${TOKEN}` };
  expect(await order('{}', { ...bearer, 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 });
  expect(await order('{}', { ...bearer, 'content-type': 'text/plain' })).toMatchObject({ status: 400 });
  for (const [body, problem] of [
    ['{"days":0}', 'days'],
    ['{"days":1.5}', 'days'],
    ['{"days":3651}', 'days'],
    ['{"beforeMs":1}', 'beforeMs: unknown field'],
  ] as const) {
    expect(await order(body, bearer)).toMatchObject({
      status: 400,
      json: { error_description: expect.stringContaining(problem) },
    });
  }
  expect(await order('{}', bearer)).toMatchObject({ status: 200 });
});
