import { expect, test } from 'vitest';
import { SqliteFault } from '../../src/sqlite/errors.ts';
import { checkAnswer } from '../contract/openapi.ts';
import { newDatabases } from '../reconcile/mirror.ts';
import { startOps } from './harness.ts';

test('names the cause in status and page and answers 503 elsewhere', async () => {
  const databases = newDatabases();
  const reason = 'another program deleted, moved or replaced mirror.db';
  const away = { ask: () => Promise.reject(new SqliteFault('unreachable', reason)) };
  const ops = await startOps(databases, { reader: away });
  const document = (await ops.ask('/openapi.json')).json as object;
  for (const path of ['/api/stock', '/api/changes', '/api/runs', '/api/drift']) {
    const { status, headers, json } = await ops.ask(path);
    expect(status, path).toBe(503);
    expect(json).toEqual({ error: 'unavailable', error_description: reason });
    checkAnswer(document, { method: 'GET', path, status, headers, body: json });
  }
  expect(await ops.ask('/readyz')).toMatchObject({ status: 503, json: { state: 'stale' } });
  const { status, json, headers } = await ops.ask('/api/status');
  expect([status, json]).toMatchObject([200, { state: 'stale', causes: [{ code: 'mirror_failed' }] }]);
  expect((json as { causes: { message: string }[] }).causes[0]?.message).toContain(reason);
  checkAnswer(document, { method: 'GET', path: '/api/status', status, headers, body: json });
  const page = await ops.ask('/');
  expect(page.status).toBe(503);
  expect(page.text).toContain(reason);
});
