/** Malformed answers of the store lead to a typed error and leave the mirror unchanged. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readProduct } from '../../src/reconcile/product-reader.ts';
import { beginCatalogueRun } from '../../src/reconcile/runs.ts';
import { scanCatalogue } from '../../src/reconcile/catalogue-scan.ts';
import { createServiceClient, type ServiceClient } from '../../src/store-api/client.ts';
import { ServiceError } from '../../src/store-api/transport/errors.ts';
import { requestToken } from '../../src/store-api/token/token-request.ts';
import type { TransportResponse } from '../../src/store-api/transport/transport.ts';
import { present } from '../shared/present.ts';
import { log, newDatabases, newThrottle, type DirectDatabases } from '../reconcile/mirror.ts';
import { detail, T0 } from '../mirror/mirror-file.ts';
import { ODD_VALUES } from './bodies.ts';
import { assertUnpolluted } from './delivery-properties.ts';

type Odd = Pick<TransportResponse, 'status' | 'headers' | 'body'>;

const KINDS = ['rejected', 'unavailable', 'rate_limited', 'unauthorized', 'contract', 'credentials'];

/** A client whose every request gets this answer. */
function answeredWith(answer: Odd): ServiceClient {
  return createServiceClient({
    transport: () =>
      Promise.resolve({ ...answer, sentAtMs: T0 + 60_000, receivedAtMs: T0 + 60_010, serverDateMs: null }),
    tokens: { getToken: () => Promise.resolve('token'), invalidate: () => undefined },
    clientSecret: 'secret',
    newRequestId: () => 'r',
    close: () => Promise.resolve(),
  });
}

const ok = (body: Uint8Array | string): Odd => ({ status: 200, headers: {}, body: Buffer.from(body) });

/** @returns the typed error, or undefined if the work succeeded. Any other error fails the test. */
async function outcomeOf(work: Promise<unknown>): Promise<ServiceError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(KINDS).toContain(error.kind);
    expect(error.message.length).toBeLessThan(2_000);
    return error;
  } finally {
    assertUnpolluted();
  }
}

type Path = readonly (string | number)[];

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [at, ...keys.flatMap((key) => pathsOf((value as Record<string, unknown>)[key], [...at, key]))];
}

/** Replaced in the text, so that the new value may be any JSON text. */
const MARK = '"@@@"';
function replaced(tree: unknown, path: Path, json: string | null): string {
  const copy = structuredClone({ root: tree });
  let node = copy as Record<string | number, unknown>;
  const full = ['root', ...path];
  for (const key of full.slice(0, -1)) node = node[key] as Record<string | number, unknown>;
  const last = present(full.at(-1));
  if (json === null && !Array.isArray(node)) Reflect.deleteProperty(node, last);
  else node[last] = '@@@';
  return (JSON.stringify(copy.root) ?? '').replace(MARK, () => json ?? 'null');
}

function mutationsOf(tree: unknown): fc.Arbitrary<string> {
  const paths = fc.constantFrom(...pathsOf(tree));
  const text = JSON.stringify(tree);
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(paths, fc.constantFrom(...ODD_VALUES))
        .map(([at, json]) => replaced(tree, at, json)),
    },
    { weight: 2, arbitrary: paths.map((at) => replaced(tree, at, null)) },
    { weight: 1, arbitrary: fc.nat(text.length - 1).map((end) => text.slice(0, end)) },
    { weight: 1, arbitrary: fc.json() },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '\0',
        '<html><body>login</body></html>',
        'null',
        '[]',
        '{}',
        text + text,
      ),
    },
  );
}

const PRODUCT = {
  ...detail('10', [
    {
      id: '100',
      levels: { 1: 5, 2: 7 },
      more: { prices: [{ id: '1', price_tier_id: '2', price: '10' }], cost: '3.50' },
    },
    { id: '101', levels: null, total: 3 },
  ]),
  update_time: T0,
  parent_id: '77',
};
const DETAIL = { request_id: 'r', product: PRODUCT };
const LIST = {
  request_id: 'r',
  products: [
    { id: '10', name: 'Tea', image_url: 'https://images.example.invalid/1' },
    { id: '11', name: '' },
  ],
  total: 2,
  has_more: false,
};
const TOKEN = { access_token: 'abc', token_type: 'Bearer', expires_in: 14_400 };
const ERROR = { error: 'not_found', error_description: 'no such product' };

const throttle = newThrottle(Date.now, { maxConcurrency: 100 });

/** The rows that an ERP sees. */
const seen = (databases: DirectDatabases): string =>
  JSON.stringify(
    ['mirror_products', 'mirror_variants', 'mirror_stock', 'mirror_changes'].map((view) =>
      databases.rows(`SELECT * FROM ${view} ORDER BY 1, 2`),
    ),
  );

/** Reads product 10, whose detail is answered with this text. */
function read(databases: DirectDatabases, text: string, nowMs = T0 + 90_000): Promise<unknown> {
  const client = answeredWith(ok(text));
  const deps = { mirror: databases.mirror, throttle, client, now: () => nowMs, random: () => 0.5 };
  return readProduct(deps, '10', [], AbortSignal.any([]));
}

async function knowing(): Promise<DirectDatabases> {
  const databases = newDatabases();
  await read(databases, JSON.stringify(DETAIL), T0 + 10);
  return databases;
}

test('merges a mutated detail, or rejects it and changes nothing', async () => {
  const databases = await knowing();
  let before = seen(databases);
  let understood = 0;
  let refused = 0;
  let nowMs = T0 + 60_000;
  await fc.assert(
    fc.asyncProperty(mutationsOf(DETAIL), async (text) => {
      nowMs += 5_000;
      const error = await outcomeOf(read(databases, text.toWellFormed(), nowMs));
      const after = seen(databases);
      if (error === undefined) understood += 1;
      else {
        refused += 1;
        expect(error.kind).toBe('contract');
        expect(after).toBe(before);
      }
      before = after;
    }),
    { numRuns: 400 },
  );
  expect(understood).toBeGreaterThan(10);
  expect(refused).toBeGreaterThan(100);
});

const HUGE = 100_000;
test.each<[string, string]>([
  ['a detail as deep as it may be long', `{"product":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`],
  [
    'an unknown field that is very deep',
    replaced(DETAIL, ['product', 'new'], '['.repeat(HUGE) + ']'.repeat(HUGE)),
  ],
  [
    'a price that is very deep',
    replaced(
      DETAIL,
      ['product', 'variants', 0, 'prices', 0, 'new'],
      '{"a":'.repeat(HUGE) + '1' + '}'.repeat(HUGE),
    ),
  ],
])('rejects %s and changes nothing', async (_, text) => {
  const databases = await knowing();
  const before = seen(databases);
  await expect(read(databases, text)).rejects.toThrow();
  expect(seen(databases)).toBe(before);
});

test('removes no product for any mutated page of the list', async () => {
  const databases = await knowing();
  const before = seen(databases);
  await fc.assert(
    fc.asyncProperty(mutationsOf(LIST), async (text) => {
      const client = answeredWith(ok(text.toWellFormed()));
      const error = await outcomeOf(client.listProducts({}));
      if (error !== undefined) {
        expect(error.kind).toBe('contract');
        return;
      }
      const now = () => T0 + 90_000;
      const run = await beginCatalogueRun({ mirror: databases.mirror, now, log }, 'operator');
      const deps = { mirror: databases.mirror, client, throttle, now, random: () => 0.5, log };
      await scanCatalogue(deps, run, AbortSignal.any([])).catch(() => undefined);
    }),
    { numRuns: 60 },
  );
  expect(seen(databases)).toBe(before);
  expect(
    databases.rows('SELECT 1 FROM products WHERE missing_at_ms IS NOT NULL OR gone_at_ms IS NOT NULL'),
  ).toEqual([]);
});

test('turns any answer to a token request into a usable token or a typed error', async () => {
  const credentials = { clientId: 'c', clientSecret: 's3cret' };
  const statuses = fc.constantFrom(200, 200, 200, 201, 204, 301, 400, 401, 403, 404, 413, 429, 500, 502, 599);
  const headers = fc.constantFrom<Record<string, string>>(
    {},
    { 'retry-after': '5' },
    { 'retry-after': '-1' },
    { 'retry-after': '1e9' },
    { 'retry-after': '9'.repeat(400) },
    { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' },
    { 'retry-after': 'soon' },
    { 'x-request-id': '\u0000\u202e' },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(mutationsOf(TOKEN), mutationsOf(ERROR)),
      statuses,
      headers,
      async (text, status, head) => {
        const answer = { status, headers: head, body: Buffer.from(text.toWellFormed()) };
        const times = { sentAtMs: T0, receivedAtMs: T0, serverDateMs: null };
        let token: Awaited<ReturnType<typeof requestToken>> | undefined;
        const error = await outcomeOf(
          requestToken(() => Promise.resolve({ ...answer, ...times }), credentials, 'r', T0).then(
            (issued) => (token = issued),
          ),
        );
        if (token !== undefined) {
          expect(status).toBeLessThan(300);
          expect(token.accessToken).toMatch(/^[\x21-\x7e]+$/);
          expect(token.expiresAtMs).toBeGreaterThan(T0);
          expect(Number.isFinite(token.expiresAtMs)).toBe(true);
        } else {
          // Only an invalid_client of the store locks the credentials.
          if (error?.kind === 'credentials')
            expect(JSON.parse(text)).toMatchObject({ error: 'invalid_client' });
          if (error?.retryAfterMs !== undefined) {
            expect(error.retryAfterMs >= 0 && error.retryAfterMs <= 3_600_000).toBe(true);
          }
        }
      },
    ),
    { numRuns: 600 },
  );
});
