import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  compareWithTruth,
  eventually,
  notKept,
  rows,
  startMirror,
  startService,
  untilLive,
  untilRunEnds,
} from '../harness.ts';

interface RunRow {
  readonly state: string;
  readonly list_offset: number;
  readonly list_done: number;
  readonly done: number;
}

test.concurrent('continues a killed resync from its last page', async (t) => {
  const sandbox = await startService(t, { products: 250 });
  const first = await startMirror(t, sandbox);
  await untilLive(first);
  await first.stop();

  const folder = dirname(first.databasePath);
  const env = { SERVICE_MAX_RPS: '60' };
  const killed = await startMirror(t, sandbox, { folder, env });
  // A second run would join that of the restart.
  await eventually(
    () => rows(first.databasePath, `SELECT 1 FROM runs WHERE state = 'running'`).length === 0,
    { what: 'the run of the restart is over' },
  );
  // The third page of the list is never answered while the first process lives.
  const asked: unknown[] = [];
  let isKilled = false;
  const nothing = Promise.resolve(undefined);
  const { promise: death, resolve: die } = Promise.withResolvers<undefined>();
  sandbox.reads.intercept = (endpoint, body) => {
    if (endpoint !== '/v1/product/list') return nothing;
    asked.push(body['offset']);
    return !isKilled && body['offset'] === 198 ? death : nothing;
  };
  const { body } = await killed.post('/api/resync', {});
  const runId = Number(body['run_id']);
  const runRow = (): RunRow =>
    present(rows<RunRow>(first.databasePath, 'SELECT * FROM runs WHERE id = ?', runId)[0]);
  await eventually(() => runRow().list_offset === 198 && runRow().done >= 40, {
    what: 'the middle of the run',
  });
  await killed.kill();
  isKilled = true;
  die(undefined);
  const before = runRow();
  expect(before).toMatchObject({ state: 'running', list_done: 0 });
  asked.length = 0;

  const again = await startMirror(t, sandbox, { folder, env });
  const { body: atOnce } = await again.get(`/api/runs/${runId}`);
  expect(atOnce).toMatchObject({ state: 'running', run_id: runId });
  expect(atOnce['done']).toBeGreaterThanOrEqual(before.done);
  expect(await untilRunEnds(again, runId)).toMatchObject({ state: 'done', done: 250, total: 250 });
  expect(asked[0]).toBe(198);
  expect(compareWithTruth(again.databasePath, sandbox)).toEqual([]);
});

test.concurrent('keeps every answered delivery over a kill', async (t) => {
  const sandbox = await startService(t, { products: 20 });
  const mirror = await startMirror(t, sandbox);
  await untilLive(mirror);
  sandbox.network.concurrency = 16;
  sandbox.traffic.start(150);
  const stored = () => sandbox.deliveries.records.filter(({ status }) => status === 204);
  await eventually(() => stored().length > 150, { what: 'traffic' });
  await mirror.kill();
  sandbox.traffic.stop();
  expect(notKept(mirror.databasePath, stored())).toEqual([]);
});
