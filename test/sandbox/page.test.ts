/** The sandbox's pages and forms without scripts. */
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { available } from '../../src/sandbox/world/model.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { levelOf, sandboxFor, variantOf, withReceiver } from './harness.ts';

type Answer = { status: number; location: string | undefined; text: string };
type Headers = Record<string, string>;

/** Sends headers that fetch() forbids. */
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

/** Posts and follows the redirect. */
async function submit(sandbox: Sandbox, path: string, fields: Record<string, string>): Promise<string> {
  const answer = await post(sandbox, path, fields);
  expect(answer).toMatchObject({ status: 303, location: expect.stringMatching(/^\//) });
  return words((await ask(sandbox, present(answer.location))).text);
}

/** The visible text. */
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

test('deletes the last products and restores them', async () => {
  const sandbox = await sandboxFor({ products: 30 });
  const live = () => sandbox.truth.products.filter(({ deleted }) => !deleted).length;
  expect(await submit(sandbox, '/page/products', { delete: '21' })).toContain('9 products, and 21 deleted.');
  expect(live()).toBe(9);
  const refused = await post(sandbox, '/page/products', { delete: '21' });
  expect(refused.status).toBe(400);
  expect(words(refused.text)).toContain('Nothing changed: there are only 9 such products.');
  expect(await submit(sandbox, '/page/products', { restore: '21' })).toContain('30 products, and 0 deleted.');
  expect(live()).toBe(30);
});

test('escapes names, addresses and what was typed', async () => {
  const { sandbox } = await withReceiver({ products: 0 });
  const name = '<script>alert(1)</script>"\'&';
  const { product } = sandbox.operations.createProduct({
    name,
    variants: [{ name, sku: name, stock: [{ warehouseId: present(sandbox.truth.warehouseIds[0]), qty: 1 }] }],
  });
  sandbox.operations.add({ variantId: present(product.variants[0]).id, by: 1 });
  sandbox.losses.lose();
  await sandbox.network.idle();
  sandbox.network.webhookUrl = `http://127.0.0.1:1/${name}`;
  sandbox.operations.add({ variantId: present(product.variants[0]).id, by: 1 });
  await sandbox.network.idle();
  const pages = [
    await show(sandbox, `/?q=${encodeURIComponent(name)}&done=${encodeURIComponent(name)}`),
    (await post(sandbox, '/page/stock', { qty: '1', how: name })).text,
  ];
  for (const page of pages) {
    expect(page).toContain('</html>');
    expect(page).not.toContain('<script>alert');
  }
  expect(pages[0]).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;');
});

test('loads style and script from the sandbox only', async () => {
  const sandbox = await sandboxFor();
  const response = await fetch(sandbox.baseUrl);
  const page = await response.text();
  const linked = [...page.matchAll(/(?:src|href)="([^"#]*)"/g)].map(([, address]) => present(address));
  expect(linked.filter((address) => !/^(\/|data:,$|$)/.test(address))).toEqual([]);
  const policy = response.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'; script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(response.headers.get('cache-control')).toBe('no-store');
  for (const file of linked.filter((address) => address.startsWith('/page/')))
    expect((await ask(sandbox, file)).status, file).toBe(200);
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
  const answer = await post(sandbox, '/page/lose-webhook', {}, headers(sandbox));
  expect(answer.status).toBe(403);
  expect(sandbox.losses.recent).toEqual([]);
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
