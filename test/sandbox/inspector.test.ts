/** What a partner's developer sees of webhooks and of their own requests, and what nobody sees: foreign secrets. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shownHeader, shownText } from '../../src/sandbox/shared/confidential.ts';
import { curlOf } from '../../src/sandbox/shared/curl.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { lacking } from '../shared/programs.ts';
import { present } from '../shared/present.ts';
import {
  levelOf,
  clientOf,
  requestToken,
  sandboxFor,
  variantOf,
  withReceiver,
  type Json,
} from './harness.ts';
import { startReceiver } from './receiver.ts';

const textAt = async (sandbox: Sandbox, path: string) => (await fetch(sandbox.baseUrl + path)).text();
/** As a reader sees it. */
const wordsAt = async (sandbox: Sandbox, path: string) =>
  (await textAt(sandbox, path))
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');

async function callsOf(sandbox: Sandbox): Promise<Json[]> {
  const answer = (await (await fetch(`${sandbox.baseUrl}/sandbox/calls`)).json()) as { calls: Json[] };
  return answer.calls;
}

test('each call is kept with its request, its answer, and what was wrong with it', async () => {
  const sandbox = await sandboxFor();
  const client = await clientOf(sandbox);
  await client('/v1/product/detail', { product_id: 5 });
  await client('/v1/product/list', {}, { authorization: 'Basic x' });
  await fetch(`${sandbox.baseUrl}/v1/product/list?page=2`);
  await client('/v1/products', {});
  sandbox.oauth.expireAllTokens();
  await client('/v1/product/list', {});
  const [unknown, missing, get, basic, wrong, token] = await callsOf(sandbox);
  expect(token).toMatchObject({ method: 'POST', target: '/oauth/token', status: 200, wrong: null });
  expect(wrong).toMatchObject({
    body: '{"product_id":5}',
    status: 400,
    wrong: 'product_id: Invalid input: expected string, received number',
    fault: false,
  });
  expect(JSON.parse(present(wrong)['answer'] as string)).toMatchObject({ error: 'invalid_request' });
  expect(basic).toMatchObject({
    status: 401,
    wrong: 'the header Authorization must be "Bearer", a space, and the token',
  });
  expect(get).toMatchObject({
    method: 'GET',
    target: '/v1/product/list?page=2',
    status: 404,
    wrong: 'every endpoint takes POST: this was GET',
  });
  expect(missing).toMatchObject({
    status: 404,
    wrong: expect.stringMatching(/^no such path; the paths are .*\/v1\/order\/create/),
  });
  expect(unknown).toMatchObject({
    status: 401,
    wrong: expect.stringContaining('did not give out this token'),
  });
  const page = await wordsAt(sandbox, '/calls?wrong=on');
  expect(page).toContain('every endpoint takes POST');
  expect(page, 'what was asked').toMatch(/POST \/v1\/product\/detail \{"product_id":5\}/);
  expect(page).not.toContain('POST /oauth/token');
});

test('an expired token, a missing one, and refused credentials are told apart; the answers are not', async () => {
  const sandbox = await sandboxFor({ tokenLifetimeS: 60 });
  const client = await clientOf(sandbox);
  sandbox.advance(61_000);
  const answers = [await client('/v1/product/list', {}), await client('/v1/product/list', {})];
  expect(new Set(answers.map(({ body }) => body['error_description'])).size).toBe(1);
  await fetch(`${sandbox.baseUrl}/v1/product/list`, { method: 'POST' });
  await requestToken(sandbox, { client_secret: 'x' });
  await requestToken(sandbox, { client_id: 'x' });
  expect((await callsOf(sandbox)).slice(0, 5).map(({ wrong }) => wrong)).toEqual([
    'there is no client_id x here',
    'the client_secret is not that of sandbox-client',
    expect.stringContaining('Authorization is missing'),
    'the token has expired: ask for another one, once',
    'the token has expired: ask for another one, once',
  ]);
});

test('a fault is not blamed on the caller', async () => {
  const sandbox = await sandboxFor();
  const client = await clientOf(sandbox);
  sandbox.reads.fail.serverError = 1;
  await client('/v1/product/list', {});
  sandbox.reads.fail.serverError = 0;
  sandbox.reads.fail.lostAnswer = 1;
  await expect(client('/v1/product/list', {})).rejects.toThrow();
  const [cut, failed] = await callsOf(sandbox);
  expect(failed).toMatchObject({ status: 500, fault: true });
  expect(cut).toMatchObject({
    status: null,
    fault: true,
    wrong: 'the connection was cut instead of an answer',
  });
  expect(await wordsAt(sandbox, '/calls')).toContain('A fault of the sandbox, not your request');
  expect(await wordsAt(sandbox, '/calls?wrong=on')).not.toContain('A fault of the sandbox');
});

test('what a mirror reads pushes nothing out, and stays off the front page', async () => {
  const sandbox = await sandboxFor();
  const client = await clientOf(sandbox);
  await client('/v1/order/detail', { order_id: '1' });
  for (let count = 0; count < 130; count += 1)
    await client('/v1/product/list', {}, { 'user-agent': 'stock-mirror/1.0.0' });
  const calls = sandbox.calls.recent;
  expect(calls.filter(({ target }) => target === '/v1/product/list')).toHaveLength(100);
  expect(calls.filter(({ target }) => target === '/v1/order/detail')).toHaveLength(1);
  const front = await wordsAt(sandbox, '/');
  expect(front).toContain('POST /v1/order/detail');
  expect(front).not.toContain('POST /v1/product/list');
  expect(await wordsAt(sandbox, '/calls')).toContain('POST /v1/product/list');
});

test('long bodies and many paths fill no memory', async () => {
  const sandbox = await sandboxFor();
  const client = await clientOf(sandbox);
  await client('/v1/product/detail', { product_id: '9'.repeat(100_000) });
  const [call] = sandbox.calls.recent;
  const { text, more } = present(call).body;
  expect([text.length, more]).toEqual([32_768, 100_017 - 32_768]);
  for (let nth = 0; nth < 300; nth += 1) await fetch(`${sandbox.baseUrl}/v1/${nth}`);
  expect(sandbox.calls.recent.length).toBeLessThanOrEqual(151);
});

test('secrets and tokens appear only where this sandbox made them up', async () => {
  const sandbox = await sandboxFor();
  const foreign = 'sk_live_FOREIGN';
  await requestToken(sandbox, { client_secret: foreign });
  const client = await clientOf(sandbox);
  const headers = { authorization: `Bearer ${foreign}`, cookie: `session=${foreign}`, 'x-api-key': foreign };
  await client(`/v1/product/list?access_token=${foreign}`, { client_secret: foreign }, headers);
  await client('/v1/product/list', `{"client_secret": "${foreign}`, headers);
  const form = new FormData();
  form.set('client_secret', foreign);
  await fetch(`${sandbox.baseUrl}/oauth/token`, { method: 'POST', body: form });
  const pages = ['/', '/calls', '/sandbox/calls', ...sandbox.calls.recent.map(({ id }) => `/calls/${id}`)];
  for (const page of pages) expect(await textAt(sandbox, page), page).not.toContain(foreign);
  expect(await textAt(sandbox, '/sandbox/calls')).toContain('client_secret=sandbox-secret');
});

test.each([
  ['client_secret=abc&x=1', 'client_secret=•••&x=1'],
  ['client_secret=own&x=1', 'client_secret=own&x=1'],
  ['{"api_key" : "a\\"b", "x": 1}', '{"api_key" : "•••", "x": 1}'],
  ['{"token":"own"}', '{"token":"own"}'],
  ["password: 'a b'", "password: '•••'"],
  ['name="client_secret"\r\n\r\nabc def\r\n--x', 'name="client_secret"\r\n\r\n•••\r\n--x'],
  ['{"sku":"SECRET-LAMP"}', '{"sku":"SECRET-LAMP"}'],
])('%s is shown as %s', (text, shown) => {
  expect(shownText(text, (value) => value === 'own')).toBe(shown);
});

test('a body made to be slow is not', () => {
  const beganMs = performance.now();
  for (const text of ['secret'.repeat(5_000), 'token":"'.repeat(4_000), `secret${' '.repeat(32_000)}`])
    shownText(text, () => false);
  expect(performance.now() - beganMs).toBeLessThan(2_000);
});

test('credentials in headers', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const shown = (name: string, value: string) => shownHeader(name, value, (each) => each === 'own');
  expect(shown('Authorization', 'Bearer own')).toBe('Bearer own');
  expect(shown('authorization', 'Bearer other')).toBe('Bearer •••');
  expect(shown('Authorization', basic('id:own'))).toBe(basic('id:own'));
  expect(shown('Authorization', basic('id:other'))).toBe('Basic •••');
  expect(shown('Cookie', 'a=b; c=d')).toBe('•••');
  expect(shown('X-Api-Key', 'other')).toBe('•••');
  expect(shown('X-Request-Id', 'other')).toBe('other');
});

test('a webhook is shown with its bytes and its signature, and leads to the mirror’s row', async () => {
  const { sandbox } = await withReceiver({ mirrorUrl: 'http://127.0.0.1:8788' });
  const { variantId, warehouseId } = levelOf(variantOf(sandbox, 'own'));
  sandbox.operations.add({ variantId, warehouseId, by: 3 });
  await sandbox.network.idle();
  const { delivery, url } = present(sandbox.deliveries.records[0]);
  const page = await wordsAt(sandbox, `/webhooks/${delivery.requestId}`);
  expect(page).toContain(delivery.body.toString());
  expect(page).toContain(`X-Service-Signature: ${delivery.headers['X-Service-Signature']}`);
  expect(page).toContain(`to ${url}`);
  expect(page).toContain('its key is the webhook secret sandbox-webhook-secret');
  expect(await textAt(sandbox, `/webhooks/${delivery.requestId}`)).toContain(
    `href="http://127.0.0.1:8788/variants/${variantId}"`,
  );
  sandbox.webhookSecret = 'another one';
  expect(await wordsAt(sandbox, `/webhooks/${delivery.requestId}`)).not.toContain('another one');
  expect((await fetch(`${sandbox.baseUrl}/webhooks/whk_0`)).status).toBe(404);
});

test('a lost webhook is sent again by hand, to any address, as the same bytes', async () => {
  const { sandbox, receiver } = await withReceiver();
  const other = await startReceiver();
  try {
    sandbox.network.loss = 1;
    sandbox.operations.add({ ...levelOf(variantOf(sandbox, 'own')), by: 3 });
    const { delivery } = present(sandbox.deliveries.records[0]);
    const replay = (url: string) =>
      fetch(`${sandbox.baseUrl}/page/replay`, {
        method: 'POST',
        headers: { origin: sandbox.baseUrl },
        body: new URLSearchParams({ request_id: delivery.requestId, url }),
      });
    expect(await (await replay(other.url)).text()).toContain(other.url);
    expect(other.received.map(({ raw }) => raw.toString())).toEqual([delivery.body.toString()]);
    expect(receiver.received).toEqual([]);
    expect(sandbox.deliveries.counts).toMatchObject({ lost: 1, answered: 0 });
    const refused = await replay('localhost:8787');
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('begins with http:// or https://');
    const unreachable = await fetch(`${sandbox.baseUrl}/sandbox/replay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ request_id: delivery.requestId, url: 'http://127.0.0.1:9/' }),
    });
    expect(await unreachable.json()).toMatchObject({
      outcome: 'failed',
      problem: expect.stringMatching(/ECONNREFUSED|bad port/),
    });
  } finally {
    await other.close();
  }
});

test('names and bodies are text on these pages too', async () => {
  const { sandbox } = await withReceiver({ products: 0 });
  const name = '<script>alert(1)</script>"\'&';
  const { product } = sandbox.operations.createProduct({
    name,
    variants: [{ name, sku: name, stock: [{ warehouseId: present(sandbox.truth.warehouseIds[0]), qty: 1 }] }],
  });
  sandbox.operations.add({ variantId: present(product.variants[0]).id, by: 1 });
  await sandbox.network.idle();
  const client = await clientOf(sandbox);
  await client(`/v1/${encodeURIComponent(name)}`, { [name]: name }, { 'x-odd': '<script>alert(2)</script>' });
  await client('/v1/order/create', { [name]: name });
  const [record] = sandbox.deliveries.records;
  const pages = [
    `/webhooks/${present(record).delivery.requestId}`,
    '/',
    '/calls',
    ...sandbox.calls.recent.map(({ id }) => `/calls/${id}`),
  ];
  for (const page of pages) expect(await textAt(sandbox, page), page).not.toMatch(/<script>alert/);
});

test('the pages are as well guarded as the first one', async () => {
  const sandbox = await sandboxFor();
  await (
    await clientOf(sandbox)
  )('/v1/product/list', {});
  for (const path of ['/calls', '/calls/1']) {
    const { headers, status } = await fetch(sandbox.baseUrl + path);
    expect(status, path).toBe(200);
    expect(headers.get('content-security-policy'), path).toContain("default-src 'none'; script-src 'self'");
  }
  const foreign = await fetch(`${sandbox.baseUrl}/page/replay`, {
    method: 'POST',
    headers: { origin: 'http://elsewhere.example' },
    body: new URLSearchParams({ request_id: 'x', url: 'http://127.0.0.1:9/' }),
  });
  expect(foreign.status).toBe(403);
});

const lacks = lacking('bash');

test.skipIf(lacks)(`what is copied means the same to a shell${lacks}`, () => {
  const body = '{"a":"it\'s $HOME `x` \\"q\\" ก"}';
  const command = curlOf({
    method: 'POST',
    url: "http://h/?q=a'b",
    headers: [
      ['X-A', "o'n"],
      ['Host', 'h'],
    ],
    body,
  });
  const words = execFileSync('bash', ['-c', `curl() { printf '%s\\n' "$@"; }; ${command}`], {
    encoding: 'utf8',
  });
  expect(words.split('\n').slice(0, -1)).toEqual([
    '-sS',
    '-i',
    "http://h/?q=a'b",
    '-H',
    "X-A: o'n",
    '--data-binary',
    body,
  ]);
});
