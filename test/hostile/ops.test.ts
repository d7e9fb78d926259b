/** The private listener answers any request with data or a typed error, never with 500. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { opsApp } from '../ops/harness.ts';
import { newDatabases } from '../reconcile/mirror.ts';
import { ODD_VALUES } from './bodies.ts';

function opsOverDatabases() {
  const databases = newDatabases();
  return { app: opsApp(databases), databases };
}

const ALLOWED = new Set([200, 202, 204, 303, 400, 403, 404, 405, 409, 410, 413, 503]);

async function check(response: Response): Promise<void> {
  expect(ALLOWED).toContain(response.status);
  if (response.status === 303 || response.status === 204) return;
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json')) {
    expect(type).toMatch(/^text\/(html|css|javascript|event-stream|plain)\b/);
    await response.body?.cancel();
    return;
  }
  const body = (await response.json()) as Record<string, unknown>;
  if (response.status < 300 || body['state'] !== undefined) return;
  expect(body).toMatchObject({
    error: expect.stringMatching(/^[a-z_]+$/),
    error_description: expect.any(String),
  });
}

const oneOf = (words: string) => fc.constantFrom(...words.split(' '));
const segment = fc.oneof(
  oneOf('api runs status readyz resync 1 0 999999999999999 9999999999999999 -1'),
  oneOf('%00 % %E0%A4%A %2e%2e .. :id * 1e1 01 １ __proto__ constructor'),
  fc.string({ maxLength: 8, unit: 'binary' }).map((text) => encodeURIComponent(text.toWellFormed())),
);
const paths = fc.oneof(
  oneOf('/readyz /api/status /api/runs /api/runs/1 /api/resync /openapi.json'),
  oneOf('/api/stock /api/variants /api/changes /api/changes/stream /api/drift /api/deliveries'),
  segment.map((id) => `/api/runs/${id}`),
  oneOf('/ /stock /deliveries /runs /variants/100 /page/resync /page/style.css /problems /problems/held'),
  oneOf('/problems/failing /problems/differences /problems/removals'),
  segment.map((id) => `/variants/${id}`),
  segment.map((id) => `/runs/${id}`),
  fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`),
);
const query = fc.oneof(
  fc.constant(''),
  fc
    .array(
      fc.tuple(
        oneOf(
          'after before after_sku q warehouse show cause limit epoch suspect sku variant_id reason dead_letters kind',
        ),
        fc.constantFrom('', '9'.repeat(40), ..."0 1 1:1 a -1 9007199254740991 gap %00 '--".split(' ')),
      ),
      { maxLength: 3 },
    )
    .map((fields) => `?${fields.map((pair) => pair.join('=')).join('&')}`),
  fc.constantFrom('?', '?limit=-1', '?limit=1e400&limit[]=2', '?after=%', '?__proto__[x]=1', '?a=%00&b=%F0'),
  fc.string({ maxLength: 20, unit: 'binary' }).map((text) => `?${encodeURI(text.toWellFormed())}`),
);

test('answers any path, query and method', async () => {
  const { app } = opsOverDatabases();
  const methods = fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
  await fc.assert(
    fc.asyncProperty(methods, paths, query, async (method, path, search) => {
      const url = `http://127.0.0.1${path}${search}`;
      fc.pre(URL.canParse(url));
      const response = await app.request(url, {
        method,
        ...(method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {}),
      });
      if (method === 'HEAD') expect(ALLOWED).toContain(response.status);
      else await check(response);
    }),
    { numRuns: 400 },
  );
});

const odd = fc.constantFrom(...ODD_VALUES);
const orders = fc.oneof(
  odd,
  fc
    .array(
      fc.tuple(fc.constantFrom('product_ids', 'allow_removals', '__proto__', 'constructor', 'other'), odd),
      { maxLength: 3 },
    )
    .map((fields) => `{${fields.map(([key, json]) => `"${key}":${json}`).join(',')}}`),
  fc.array(odd, { maxLength: 4 }).map((ids) => `{"product_ids":[${ids.join(',')}]}`),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.json(),
);
const types = fc.constantFrom(
  ...['application/json', 'application/json', 'application/json; charset=utf-16', 'APPLICATION/JSON'],
  ...['text/plain', 'multipart/form-data; boundary=x', 'application/jsonp', ''],
);

test('answers any resync request', async () => {
  const { app, databases } = opsOverDatabases();
  await fc.assert(
    fc.asyncProperty(orders, types, async (body, type) => {
      await check(
        await app.request('/api/resync', {
          method: 'POST',
          body: typeof body === 'string' ? body.toWellFormed() : body,
          headers: type === '' ? {} : { 'content-type': type },
        }),
      );
    }),
    { numRuns: 500 },
  );
  expect(Object.hasOwn(Object.prototype, 'new')).toBe(false);
  for (const { ids } of databases.rows<{ ids: string | null }>('SELECT product_ids_json AS ids FROM runs')) {
    for (const id of JSON.parse(ids ?? '[]') as string[]) expect(id).toMatch(/^[0-9]+$/);
  }
});
