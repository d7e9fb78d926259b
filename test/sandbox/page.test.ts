/** The sandbox's pages without scripts: what they show, what their forms do, and which forms they refuse. */
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { available } from '../../src/sandbox/world/model.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { clientOf, levelOf, sandboxFor, steer, variantOf, withReceiver } from './harness.ts';
import { startReceiver } from './receiver.ts';

type Answer = { status: number; location: string | undefined; text: string };
type Headers = Record<string, string>;

/** As a browser asks, with the headers that fetch() does not let anybody set. */
function ask(sandbox: Sandbox, path: string, headers: Headers = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    request({ host: '127.0.0.1', port: sandbox.port, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, location: response.headers.location, text });
      });
    })
      .on('error', reject)
      .end(body);
  });
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

function post(sandbox: Sandbox, path: string, fields: Record<string, string>, headers?: Headers) {
  const own = { origin: sandbox.baseUrl, 'sec-fetch-site': 'same-origin' };
  return ask(sandbox, path, { ...FORM, ...(headers ?? own) }, new URLSearchParams(fields).toString());
}

/** Posts, and reads the page that the answer leads to. */
async function submit(sandbox: Sandbox, path: string, fields: Record<string, string>): Promise<string> {
  const answer = await post(sandbox, path, fields);
  expect(answer).toMatchObject({ status: 303, location: expect.stringMatching(/^\//) });
  return words((await ask(sandbox, present(answer.location))).text);
}

/** The page as a reader sees it. */
function words(page: string): string {
  return page
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
}

const show = async (sandbox: Sandbox, path = '/') => (await ask(sandbox, path)).text;

test('shows stock per warehouse and how to connect', async () => {
  const sandbox = await sandboxFor();
  const variant = variantOf(sandbox, 'own', 2);
  const page = await show(sandbox);
  for (const { warehouseId, onHand, ...level } of variant.levels) {
    const row = words(present(page.split(`id="stock-${variant.id}-${warehouseId}"`)[1]));
    expect(row).toContain(
      `${warehouseId} ${available({ warehouseId, onHand, ...level })} ${onHand} ${level.reserved}`,
    );
  }
  expect(words(page)).toContain(
    `SERVICE_BASE_URL=${sandbox.baseUrl} SERVICE_CLIENT_ID=sandbox-client SERVICE_CLIENT_SECRET=sandbox-secret ` +
      'SERVICE_WEBHOOK_SECRET=sandbox-webhook-secret',
  );
});

test('searches by name, SKU and id, and forms return to the page of the list', async () => {
  const sandbox = await sandboxFor({ products: 45 });
  const rows = (page: string) =>
    [...page.matchAll(/<tbody id="product-(\d+)"/g)].map(([, id]) => present(id));
  const all = sandbox.truth.products.map(({ id }) => id);
  const pages = await Promise.all(['/', '/?page=2', '/?page=3'].map((path) => show(sandbox, path)));
  expect(pages.flatMap(rows)).toEqual(all);
  expect(rows(await show(sandbox, '/?page=99'))).toEqual(all.slice(40));

  const { product, sku, id } = variantOf(sandbox, 'own');
  for (const query of [product.name, present(sku).toLowerCase(), id, product.id]) {
    expect(rows(await show(sandbox, `/?q=${encodeURIComponent(query)}`))).toContain(product.id);
  }
  expect(rows(await show(sandbox, '/?q=nothing-has-this'))).toEqual([]);
  const answer = await post(sandbox, '/page/stock?q=SKU&page=2', {
    ...fieldsOf(sandbox),
    qty: '5',
    how: 'set',
  });
  expect(answer.location).toBe('/?q=SKU&page=2&done');
});

const fieldsOf = (sandbox: Sandbox) => {
  const { variantId, warehouseId } = levelOf(variantOf(sandbox, 'own'));
  return { variant_id: variantId, warehouse_id: warehouseId };
};

test('sets and adds stock, and shows each webhook with its answer', async () => {
  const { sandbox, receiver } = await withReceiver({ ackTimeoutMs: 60_000 });
  const fields = fieldsOf(sandbox);
  expect(await submit(sandbox, '/page/stock', { ...fields, qty: '1042', how: 'set' })).toContain('Done.');
  await sandbox.network.idle();
  receiver.answer = 503;
  await submit(sandbox, '/page/stock', { ...fields, qty: '-2', how: 'add' });
  await sandbox.network.idle();
  expect(receiver.items()).toMatchObject([
    { new: 1042, reason: 'user_adjusted' },
    { old: 1042, new: 1040, reason: 'user_deducted' },
  ]);
  const list = words(present((await show(sandbox)).split('id="webhooks-list"')[1]));
  expect(list).toMatch(/503 in \d+ ms .* 1042 → 1040 user_deducted .* 204 in \d+ ms .* → 1042 user_adjusted/);
});

test('loses a webhook, and shows how the next one reveals it and a read repairs it', async () => {
  const { sandbox } = await withReceiver({ ackTimeoutMs: 60_000 });
  expect(await submit(sandbox, '/page/lose-webhook', {})).toContain('the receiver accepts the next webhook');
  sandbox.advance(1_000);
  await sandbox.network.idle();
  expect(words(await show(sandbox))).toMatch(/so one is missing .* the receiver reads the product/);
  const client = await clientOf(sandbox);
  await client('/v1/product/detail', { product_id: present(sandbox.losses.recent[0]).productId });
  expect(words(await show(sandbox))).toMatch(/the receiver read the product, \d+\.\d s later/);
});

test('the form has every fault of the control API, and applies the typed values', async () => {
  const sandbox = await sandboxFor();
  const leaves = (value: unknown, path: string[] = []): [string, unknown][] =>
    typeof value === 'object'
      ? Object.entries(value as object).flatMap(([key, inner]) => leaves(inner, [...path, key]))
      : [[path.join('.'), value]];
  const before = leaves((await steer(sandbox, '/faults', {})).body);
  const form = present((await show(sandbox)).split('id="faults"')[1]?.split('</form>')[0]);
  const shown = [...form.matchAll(/<input\s[^>]*name="([^"]+)"/g)].map(([, name]) => present(name));
  expect(shown.toSorted()).toEqual(before.map(([path]) => path).toSorted());

  const typed = before.map(([path, value], index): [string, unknown] => [
    path,
    typeof value === 'boolean' ? true : /ms|_s$/.test(path) ? 100 + index : 0.25,
  ]);
  await submit(
    sandbox,
    '/page/faults',
    Object.fromEntries(typed.map(([path, value]) => [path, String(value)])),
  );
  expect(Object.fromEntries(leaves((await steer(sandbox, '/faults', {})).body))).toEqual(
    Object.fromEntries(typed),
  );
});

test('changes settings and random traffic', async () => {
  const { sandbox, receiver } = await withReceiver();
  const off = await submit(sandbox, '/page/settings', { webhook_url: receiver.url, booking_delay_ms: '7' });
  expect(off).toContain('No webhooks are sent: the event is switched off');
  expect(sandbox.network).toMatchObject({ enabled: false, webhookUrl: receiver.url });
  expect(sandbox.courier.bookingDelayMs).toBe(7);
  const on = { 'events.stock_available_updated': 'on', booking_delay_ms: '5' };
  expect(await submit(sandbox, '/page/settings', { webhook_url: '', ...on })).toContain('no URL is set');
  await submit(sandbox, '/page/traffic', { rate: '0.5', structural: 'on' });
  expect(sandbox.traffic).toMatchObject({ rate: 0.5, structural: true });
});

test.each<[path: string, fields: Record<string, string>, message: string]>([
  ['stock', { variant_id: '5', warehouse_id: '5', qty: '1' }, 'no live variant 5.'],
  ['stock', { variant_id: '5', warehouse_id: '5' }, 'to: Invalid input'],
  ['settings', { webhook_url: 'localhost', booking_delay_ms: '1' }, 'webhook_url: Invalid URL'],
  ['faults', { loss: '2' }, 'loss: Too big'],
  ['traffic', { rate: '-1' }, 'rate: Too small'],
  ['lose-webhook', {}, 'no webhooks are sent'],
])(
  '/page/%s with %j is refused with the reason, and keeps the typed values',
  async (name, fields, message) => {
    const sandbox = await sandboxFor();
    const before = sandbox.truth.snapshot();
    const answer = await post(sandbox, `/page/${name}`, fields);
    expect(answer.status).toBe(400);
    expect(words(answer.text)).toContain(`Not done. ${message}`);
    expect(sandbox.truth.snapshot()).toEqual(before);
    if (name !== 'stock')
      for (const value of Object.values(fields)) expect(answer.text).toContain(`value="${value}"`);
    expect(await ask(sandbox, `/page/${name}`)).toMatchObject({ status: 303, location: '/' });
  },
);

test('a lost webhook is shown raw, and sent again to any address as the same bytes', async () => {
  const { sandbox, receiver } = await withReceiver({ mirrorUrl: 'http://127.0.0.1:8788' });
  const other = await startReceiver();
  try {
    sandbox.network.loss = 1;
    const { variantId, warehouseId } = levelOf(variantOf(sandbox, 'own'));
    sandbox.operations.add({ variantId, warehouseId, by: 3 });
    const { delivery } = present(sandbox.deliveries.records[0]);
    const path = `/webhooks/${delivery.requestId}`;
    expect(words(await show(sandbox, path))).toContain(delivery.body.toString());
    expect(words(await show(sandbox, path))).toContain(delivery.headers['X-Service-Signature']);
    expect(await show(sandbox, path)).toContain(`href="http://127.0.0.1:8788/variants/${variantId}"`);

    const again = { request_id: delivery.requestId };
    expect(await submit(sandbox, '/page/replay', { ...again, url: other.url })).toContain(`to ${other.url}`);
    expect(other.received.map(({ raw }) => raw.toString())).toEqual([delivery.body.toString()]);
    expect(receiver.received).toEqual([]);
    const refused = await post(sandbox, '/page/replay', { ...again, url: 'localhost:8787' });
    expect([refused.status, words(refused.text)]).toEqual([
      400,
      expect.stringContaining('begin with http://'),
    ]);
    const unreachable = await steer(sandbox, '/replay', { ...again, url: 'http://127.0.0.1:9/' });
    expect(unreachable.body).toMatchObject({
      outcome: 'failed',
      problem: expect.stringMatching(/ECONNREFUSED/),
    });
    expect((await ask(sandbox, '/webhooks/whk_0')).status).toBe(404);
  } finally {
    await other.close();
  }
});

test('each API call is kept with its raw request and answer', async () => {
  const sandbox = await sandboxFor();
  const client = await clientOf(sandbox);
  await client('/v1/product/detail', { product_id: 5 });
  sandbox.reads.fail.lostAnswer = 1;
  await expect(client('/v1/product/list?page=2', {})).rejects.toThrow();
  const { body } = await reply(sandbox, '/sandbox/calls');
  const [cut, wrong] = body['calls'] as { id: number }[];
  expect(cut).toMatchObject({ target: '/v1/product/list?page=2', status: null });
  expect(wrong).toMatchObject({ method: 'POST', body: '{"product_id":5}', status: 400 });
  const page = words(await show(sandbox, `/calls/${present(wrong).id}`));
  expect(page).toMatch(/content-type: application\/json .*\{"product_id":5\} Answer 400 .*"invalid_request"/);
  expect(page).toContain(`curl -sS -i '${sandbox.baseUrl}/v1/product/detail'`);
});

const reply = async (sandbox: Sandbox, path: string) => ({
  body: (await (await fetch(sandbox.baseUrl + path)).json()) as Record<string, unknown>,
});

test('the reads of a mirror push nothing out, and stay off the front page', async () => {
  const sandbox = await sandboxFor();
  const client = await clientOf(sandbox);
  await client('/v1/order/detail', { order_id: '1' });
  for (let count = 0; count < 130; count += 1)
    await client('/v1/product/list', {}, { 'user-agent': 'stock-mirror/1.0.0' });
  const front = words(await show(sandbox));
  expect(front).toContain('POST /v1/order/detail');
  expect(front).not.toContain('POST /v1/product/list');
  expect(words(await show(sandbox, '/calls'))).toContain('POST /v1/product/list');
});

test('long bodies and many paths do not fill the memory', async () => {
  const sandbox = await sandboxFor();
  const client = await clientOf(sandbox);
  await client('/v1/product/detail', { product_id: '9'.repeat(100_000) });
  const { text, more } = present(sandbox.calls.recent[0]).body;
  expect([text.length, more]).toEqual([32_768, 100_017 - 32_768]);
  for (let nth = 0; nth < 300; nth += 1) await fetch(`${sandbox.baseUrl}/v1/${nth}`);
  expect(sandbox.calls.recent.length).toBeLessThanOrEqual(151);
});

test('names and bodies are text on every page', async () => {
  const { sandbox } = await withReceiver({ products: 0 });
  const name = '<script>alert(1)</script>"\'&';
  const { product } = sandbox.operations.createProduct({
    name,
    variants: [{ name, sku: name, stock: [{ warehouseId: present(sandbox.truth.warehouseIds[0]), qty: 1 }] }],
  });
  sandbox.operations.add({ variantId: present(product.variants[0]).id, by: 1 });
  sandbox.losses.lose();
  await sandbox.network.idle();
  const client = await clientOf(sandbox);
  await client(`/v1/${encodeURIComponent(name)}`, { [name]: name }, { 'x-odd': name.slice(0, 20) });
  const pages = [
    await show(sandbox, `/?q=${encodeURIComponent(name)}&done=${encodeURIComponent(name)}`),
    await show(sandbox, `/webhooks/${present(sandbox.deliveries.records[0]).delivery.requestId}`),
    await show(sandbox, '/calls'),
    await show(sandbox, `/calls/${present(sandbox.calls.recent[0]).id}`),
    (await post(sandbox, '/page/faults', { loss: name })).text,
  ];
  for (const page of pages) {
    expect(page).toContain('</html>');
    expect(page).not.toContain('<script>alert');
  }
  expect(pages[0]).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;');
});

test('style and script come from the sandbox itself, and nothing else may load', async () => {
  const sandbox = await sandboxFor();
  await clientOf(sandbox);
  for (const path of ['/', '/calls', '/calls/1']) {
    const response = await fetch(sandbox.baseUrl + path);
    const page = await response.text();
    const linked = [...page.matchAll(/(?:src|href)="([^"#]*)"/g)].map(([, address]) => present(address));
    expect(linked.filter((address) => !/^(\/|data:,$|$)/.test(address))).toEqual([]);
    const policy = response.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(response.headers.get('cache-control')).toBe('no-store');
    for (const file of linked.filter((address) => address.startsWith('/page/')))
      expect((await ask(sandbox, file)).status, file).toBe(200);
  }
});

test.each<[what: string, headers: (sandbox: Sandbox) => Headers]>([
  ['another site', () => ({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })],
  ['another port', () => ({ origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' })],
  ['a page without an origin', () => ({ origin: 'null' })],
  ['a program that sends no origin', () => ({})],
  [
    'a foreign name that resolves to 127.0.0.1',
    ({ port }) => ({
      host: `evil.example:${port}`,
      origin: `http://evil.example:${port}`,
      'sec-fetch-site': 'same-origin',
    }),
  ],
])('refuses a form from %s', async (_what, headers) => {
  const sandbox = await sandboxFor();
  const answer = await post(sandbox, '/page/traffic', { rate: '5' }, headers(sandbox));
  expect(answer.status).toBe(403);
  expect(sandbox.traffic.rate).toBe(0);
});

test('refuses a foreign host name on the page and the control API', async () => {
  const sandbox = await sandboxFor();
  for (const path of ['/', '/page/script.js', '/sandbox/truth', '/sandbox/settings']) {
    for (const host of ['evil.example', `evil.example:${sandbox.port}`, '127.0.0.1:1', 'localhost']) {
      expect([path, host, (await ask(sandbox, path, { host })).status]).toEqual([path, host, 403]);
    }
    expect((await ask(sandbox, path, { host: `localhost:${sandbox.port}` })).status).toBe(200);
  }
});
