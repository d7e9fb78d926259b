import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeEach, expect, test } from 'vitest';
import { checkAnswer } from '../contract/openapi.ts';
import { present } from '../shared/present.ts';
import { newDatabases, type DirectDatabases } from '../reconcile/mirror.ts';
import { delivery, detail, item, readInput, T0 } from '../mirror/mirror-file.ts';
import { startOps, type Ops } from './harness.ts';

type Json = Record<string, unknown>;
type Rows = Json[];

let databases: DirectDatabases;
let ops: Ops;
let document: object;

beforeEach(async () => {
  databases = newDatabases();
  ops = await startOps(databases);
  document = (await ops.ask('/openapi.json')).json as object;
});

/** Checks the answer against the document. @param described the path in the document. */
async function get(
  path: string,
  described = present(path.split('?')[0]),
): Promise<{ status: number; body: Json }> {
  const { status, headers, json } = await ops.ask(path);
  checkAnswer(document, { method: 'GET', path: described, status, headers, body: json });
  return { status, body: json as Json };
}

async function pages(path: string, name: string): Promise<Rows[]> {
  const found: Rows[] = [];
  for (let next: string | null = null; ;) {
    const { body } = await get(`${path}${next === null ? '' : `&after=${next}`}`);
    found.push(body[name] as Rows);
    next = body['next'] as string | null;
    expect(next === null).toBe(!body['has_more']);
    if (next === null) return found;
  }
}

async function read(productId: string, found: Json, sentAtMs = T0): Promise<void> {
  await databases.mirror.append(readInput(productId, found, { sentAtMs }));
}

async function fill(): Promise<void> {
  await read(
    '10',
    detail('10', [
      { id: '100', levels: { 1: 5, 2: 6 } },
      { id: '101', levels: { 1: 7 } },
    ]),
  );
  await read('11', detail('11', [{ id: '110', levels: { 1: 8 } }]));
}

test('serves a valid document with every endpoint', async () => {
  const result = await new Validator().validate(structuredClone(document) as Json);
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  const { paths, openapi } = document as { paths: Json; openapi: string };
  expect(openapi).toBe('3.1.0');
  expect(Object.keys(paths).sort()).toEqual([
    '/api/changes',
    '/api/changes/stream',
    '/api/deliveries',
    '/api/drift',
    '/api/resync',
    '/api/runs',
    '/api/runs/{id}',
    '/api/sellable',
    '/api/status',
    '/api/stock',
    '/api/variants',
    '/readyz',
  ]);
});

test('reports state and readiness', async () => {
  expect(await get('/readyz')).toEqual({ status: 503, body: { state: 'catching_up' } });
  const { body } = await get('/api/status');
  expect(body).toMatchObject({ state: 'catching_up', last_seq: 0, causes: [{ code: 'first_read' }] });
  databases.change('UPDATE service_state SET last_full_sync_at_ms = 1');
  expect(await get('/readyz')).toEqual({ status: 200, body: { state: 'live' } });
});

test('pages through the whole view of stock', async () => {
  await fill();
  const view = databases.rows('SELECT * FROM mirror_stock ORDER BY variant_id, warehouse_id');
  expect(view).toHaveLength(4);
  const { body } = await get('/api/stock');
  const [{ epoch, last_seq: lastSeq }] = databases.rows<{ epoch: string; last_seq: number }>(
    'SELECT * FROM mirror_status',
  ) as [{ epoch: string; last_seq: number }];
  expect(body).toEqual({ epoch, last_seq: lastSeq, stock: view, next: null, has_more: false });
  const paged = await pages('/api/stock?limit=1', 'stock');
  expect(paged.map((page) => page.length)).toEqual([1, 1, 1, 1]);
  expect(paged.flat()).toEqual(view);
  expect((await pages('/api/stock?limit=3', 'stock')).map((page) => page.length)).toEqual([3, 1]);
  expect((await pages('/api/stock?limit=2', 'stock')).map((page) => page.length)).toEqual([2, 2]);
});

test('takes ids of any length, as the store does', async () => {
  const uuid = '340282366920938463463374607431768211455';
  const long = '9'.repeat(300);
  await read(uuid, detail(uuid, [{ id: uuid, levels: { [uuid]: 5, [long]: 6 } }]));
  await read(long, detail(long, [{ id: long, levels: { 1: 7 } }]));
  for (const [path, rows] of [
    ['/api/sellable', 3],
    ['/api/stock', 3],
    ['/api/variants', 2],
  ] as const) {
    const name = path.slice('/api/'.length);
    expect((await pages(`${path}?limit=1`, name)).flat(), path).toHaveLength(rows);
    expect((await pages(`${path}?variant_id=${long}`, name)).flat(), path).toHaveLength(1);
    expect((await pages(`${path}?product_id=${uuid}`, name)).flat(), path).toHaveLength(rows - 1);
  }
  expect((await pages(`/api/sellable?variant_id=${uuid},${long}`, 'sellable')).flat()).toHaveLength(3);
  expect((await pages(`/api/stock?warehouse_id=${long}`, 'stock')).flat()).toHaveLength(1);
});

test('filters stock by variant, sku, product, warehouse and suspicion, alone and together', async () => {
  await fill();
  await databases.requestReads(T0 + 1, 'conflict', { productIds: ['11'] });
  for (const [query, keys] of [
    ['variant_id=100', ['100:1', '100:2']],
    ['sku=S-101', ['101:1']],
    ['product_id=10', ['100:1', '100:2', '101:1']],
    ['warehouse_id=2', ['100:2']],
    ['product_id=10&warehouse_id=1', ['100:1', '101:1']],
    ['variant_id=100&sku=S-101', []],
    ['variant_id=100&product_id=11', []],
    ['suspect=1', ['110:1']],
    ['suspect=0&warehouse_id=1', ['100:1', '101:1']],
    ['sku=none', []],
  ] as const) {
    for (const limit of [1, 2, 100]) {
      const found = (await pages(`/api/stock?${query}&limit=${limit}`, 'stock')).flat();
      expect(
        found.map((row) => `${String(row['variant_id'])}:${String(row['warehouse_id'])}`),
        query,
      ).toEqual(keys);
    }
  }
});

test('scans a bounded number of rows for one page', async () => {
  databases.change(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    INSERT INTO variants (variant_id, product_id, sku, name, kind, available_qty, allow_negative_stock,
      bundled_by_count, as_of_ms, event_at_ms, change_seq)
    SELECT cast(100000 + i AS TEXT), '10', 'S', '', 'own', 1, 0, 0, 0, 0, i FROM n`);
  databases.change(`
    INSERT INTO stock_levels (variant_id, warehouse_id, qty, source, as_of_ms, event_time_ms, event_old, event_count,
      event_at_ms, read_lo_ms, read_hi_ms, read_at_ms, change_seq)
    SELECT variant_id, CASE variant_id WHEN '111111' THEN '2' ELSE '1' END, 1, 'read', 0, 0, 0, 0, 0, 0, 0, 0, change_seq
    FROM variants`);
  const found = await pages('/api/stock?warehouse_id=2', 'stock');
  expect(found.flat().map((row) => row['variant_id'])).toEqual(['111111']);
  expect(found.map((page) => page.length)).toEqual([0, 0, 1]);
});

test('lists drift by cause, latest first', async () => {
  await fill();
  for (const [n, reason] of ['gap', 'lost_tail', 'first_read', 'gap', 'downtime', 'removed'].entries()) {
    databases.change(
      `INSERT INTO changes (seq, variant_id, source, reason, recorded_at_ms, old_qty, new_qty)
       VALUES (?, '100', 'read', ?, ?, 1, 2)`,
      100 + n,
      reason,
      T0,
    );
  }
  databases.change(
    `INSERT INTO changes (seq, variant_id, source, reason, recorded_at_ms) VALUES (110, '100', 'webhook', 'gap', 0)`,
  );
  const seqs = async (query: string) =>
    (await pages(`/api/drift?${query}`, 'drift')).map((page) => page.map((row) => row['seq']));
  expect(await seqs('limit=3')).toEqual([[104, 103, 101], [100]]);
  expect(await seqs('reason=gap&limit=1')).toEqual([[103], [100]]);
  expect(await seqs('reason=conflict')).toEqual([[]]);
});

test('lists all deliveries or dead letters, latest first', async () => {
  const deliver = (body: Uint8Array, atMs: number) => databases.deliver(body, atMs);
  await deliver(delivery('a', item(), item({ id: '101' })), T0 + 1_000);
  await deliver(new TextEncoder().encode('no JSON'), T0 + 2_000);
  await fill();
  await deliver(delivery('b', item({ id: 'odd' }), item({ id: 5 }), item({ update_time: T0 })), T0 + 60_000);
  const { body } = await get('/api/deliveries');
  expect(body['deliveries']).toMatchObject([
    {
      request_id: 'b',
      items: 1,
      arrived_at: T0 + 60_000,
      dead_letters: [{ item_index: 0 }, { item_index: 1 }],
    },
    {
      request_id: null,
      items: 0,
      bytes: 7,
      dead_letters: [{ item_index: null, problem: 'the body is not JSON' }],
    },
    { request_id: 'a', items: 2, dead_letters: [], arrived_at: T0 + 1_000 },
  ]);
  const ids = async (query: string) =>
    (await pages(`/api/deliveries?${query}`, 'deliveries')).flat().map((row) => row['request_id']);
  for (const limit of [1, 2, 9]) {
    expect(await ids(`limit=${limit}`)).toEqual(['b', null, 'a']);
    expect(await ids(`dead_letters=1&limit=${limit}`)).toEqual(['b', null]);
  }
  const large = delivery('large', item({ note: 'x'.repeat(70_000) }));
  await deliver(large, T0 + 90_000);
  const latest = (await get('/api/deliveries?limit=1')).body['deliveries'];
  expect(latest).toMatchObject([{ bytes: large.byteLength, request_id: null, items: null }]);
});

test('lists runs, latest first, and shows one', async () => {
  const order = (body: Json) =>
    ops.ask('/api/resync', { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  for (const id of ['1', '2', '3']) {
    const answer = await order({ product_ids: [id] });
    checkAnswer(document, {
      method: 'POST',
      path: '/api/resync',
      ...answer,
      headers: { 'content-type': 'application/json' },
      body: answer.json,
    });
    expect(answer.status).toBe(202);
  }
  const paged = await pages('/api/runs?limit=2', 'runs');
  expect(paged.map((page) => page.map((run) => run['run_id']))).toEqual([[3, 2], [1]]);
  expect((await get('/api/runs/2', '/api/runs/{id}')).body).toMatchObject({ kind: 'products', total: 1 });
  for (const id of ['9', 'x', '0', '%00', '9'.repeat(20)]) {
    expect((await get(`/api/runs/${id}`, '/api/runs/{id}')).status, id).toBe(404);
  }
});

test('names wrong parameters', async () => {
  for (const [path, problem] of [
    ['/api/stock?limit=1e2', 'limit: must be a whole number from 1 to 1000'],
    ['/api/stock?variant_id=a', 'variant_id: must be an id'],
    ['/api/stock?after=5', 'after: must be the `next`'],
    ['/api/stock?suspect=true', 'suspect: must be 0 or 1'],
    ['/api/stock?sku=', 'sku: must not be empty'],
    ['/api/changes?after=-1', 'after: must be a whole number'],
    ['/api/changes?epoch=XYZ', 'epoch: must be the `epoch`'],
    ['/api/drift?reason=first_read', 'reason: must be one of'],
  ] as const) {
    const { status, body } = await get(path);
    expect([path, status, body['error']]).toEqual([path, 400, 'invalid_request']);
    const description = String(body['error_description']);
    expect(description.startsWith(problem), `${path}: ${description}`).toBe(true);
  }
  for (const [path, operations] of Object.entries((document as { paths: Json }).paths)) {
    const body = 'post' in (operations as Json) ? { body: '{}' } : {};
    const headers = { 'content-type': 'application/json' };
    const { status, json } = await ops.ask(`${path}?x=1`, { ...body, headers });
    expect([path, status, json]).toMatchObject([path, 400, { error_description: 'x: unknown parameter' }]);
  }
});

test('names wrong fields of a body', async () => {
  for (const [body, problem] of [
    ['{"product_ids":[]}', 'product_ids'],
    ['{"product_ids":["x"]}', 'product_ids[0]'],
    ['{"products":["1"]}', 'products: unknown field'],
    ['[]', 'the body'],
    ['{', 'JSON'],
  ] as const) {
    const answer = await ops.ask('/api/resync', { body, headers: { 'content-type': 'application/json' } });
    const refused = { error: 'invalid_request', error_description: expect.stringContaining(problem) };
    expect([answer.status, answer.json]).toEqual([400, refused]);
  }
});
