import { SqliteFault } from '../../src/sqlite/errors.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Operator } from '../../src/ops/shared/operator.ts';
import { plotsView } from '../../src/ops/page/plots-view.ts';
import { CAUSE_CODES } from '../../src/ops/state/causes.ts';
import { beginCatalogueRun, endRun } from '../../src/reconcile/runs.ts';
import { present } from '../shared/present.ts';
import { log, newDatabases, type DirectDatabases } from '../reconcile/mirror.ts';
import { delivery, detail, item, readInput, refusedRead } from '../mirror/mirror-file.ts';
import { cookieOf, holdRemovals, operatorOf, startOps, TOKEN, type Ops } from './harness.ts';
import { heartbeat, REPORT } from './reported.ts';
import { unwatched } from './watched.ts';

function linkTo(page: string, linkWords: string): string {
  const address = new RegExp(`href="([^"]*)"[^>]*>${linkWords}`).exec(page)?.[1];
  if (address === undefined) throw new Error(`no link “${linkWords}”`);
  return address.replaceAll('&amp;', '&');
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const words = (page: string): string => page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');

async function show(ops: Ops, path: string): Promise<string> {
  const { status, text } = await ops.ask(path);
  expect([path, status]).toEqual([path, 200]);
  return text;
}

const post = (ops: Ops, path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  ops.ask(path, {
    method: 'POST',
    headers: { ...FORM, origin: ops.url, 'sec-fetch-site': 'same-origin', ...headers },
    body: new URLSearchParams(fields).toString(),
  });

/** Reads variant 100 in warehouse 1 as 5, 100 s ago. */
async function read(databases: DirectDatabases) {
  const found = detail('1', [{ id: '100', levels: { 1: 5 } }]);
  const times = { sentAtMs: Date.now() - 100_000 };
  await databases.mirror.append(readInput('1', found, times));
}

const change = (
  databases: DirectDatabases,
  requestId: string,
  secondsAgo: number,
  over: Parameters<typeof item>[0] = {},
) => {
  const atMs = Date.now() - secondsAgo * 1_000;
  return databases.deliver(delivery(requestId, item({ update_time: atMs, ...over })), atMs);
};

/** Ages on the page do not depend on how long a test takes. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const PAGES = [
  '/',
  '/stock',
  '/stock?suspect=1',
  '/deliveries',
  '/runs',
  '/problems/held',
  '/problems/failing',
  '/problems/differences',
  '/causes',
];

test('says that no value is trusted while webhooks are unproven', async () => {
  const databases = newDatabases();
  await read(databases);
  databases.change('UPDATE service_state SET last_full_sync_at_ms = ?', Date.now());
  databases.change(`UPDATE mirror_state SET way_in = 'unproven'`);
  const watched = unwatched({ reader: databases.mirror, writer: databases.mirror });
  watched.watch.received(heartbeat(Date.now()), REPORT);
  await watched.watch.beat(Date.now());
  const page = words(await show(await startOps(databases, watched), '/'));
  expect(page).toContain('Do not rely on these values yet None is trusted until a webhook');
  expect(page).not.toContain('The others are current');
});

test('shows whether to rely on the values, and each cause with its remedy', async () => {
  const databases = newDatabases();
  const message = '401 invalid_client: no such client (refused at 2026-11-20T10:11:12.000Z)';
  let blocked: Operator['blocked'] = null;
  const operator = {
    ...operatorOf(databases),
    get blocked() {
      return blocked;
    },
  };
  const ops = await startOps(databases, { operator });
  const overview = async () => words(await show(ops, '/'));
  const notYet = 'Catching up Do not rely on these values yet';
  expect(await overview()).toContain(`${notYet} The mirror has no quantity to sell.`);
  await change(databases, 'a', 200, { id: '200', old: 4, new: 3 });
  await expect.poll(overview).toContain(`${notYet} All quantities (1) are suspect until they are read.`);

  await read(databases);
  expect(await overview()).toContain(
    'Catching up You can rely on the values that are not suspect ' +
      'Suspect: 1 of 2 quantities. The others are current.',
  );
  const other = detail('2', [{ id: '200', levels: { 1: 3 } }]);
  await databases.mirror.append(readInput('2', other, { sentAtMs: Date.now() - 100_000 }));
  databases.change('UPDATE service_state SET last_full_sync_at_ms = ?', Date.now());
  expect(await overview()).toContain('You can rely on these values 2 quantities, all current.');

  await change(databases, 'b', 1, { old: 9, new: 8 });
  await expect.poll(overview).toContain('Suspect: 1 of 2 quantities. The others are current.');
  expect(await overview()).toMatch(
    /Can be sold now 1 of 2 Waiting to be read 1 Last webhook .* Oldest check/,
  );

  blocked = { kind: 'credentials', message, sinceMs: 0 };
  const page = await show(ops, '/');
  expect(words(page)).toMatch(
    /Stale .*Do not rely on these values .*The store refuses the credentials .*What to do: .*SERVICE_CLIENT_SECRET/,
  );
  expect(page).toContain('<a href="/causes#credentials"><code>credentials</code></a>');
  const causes = await show(ops, '/causes');
  expect(CAUSE_CODES.filter((code) => !causes.includes(`<article id="${code}">`))).toEqual([]);
});

test('finds stock by SKU, id, name and warehouse, in pages, with the age of each row', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  for (let i = 0; i < 45; i += 1) {
    const product = String(10 + i);
    const found = detail(product, [{ id: `${product}00`, levels: i === 44 ? { 2: 5 } : { 1: i } }]);
    await databases.mirror.append(readInput(product, found, { sentAtMs: Date.now() - 100_000 }));
  }
  const shown = (page: string) => [
    ...new Set([...page.matchAll(/id="level-(\d+)-\d+"/g)].map(([, id]) => present(id))),
  ];
  const first = await show(ops, '/stock');
  const second = await show(ops, linkTo(first, 'Next page'));
  expect([shown(first).length, shown(second).length]).toEqual([40, 5]);
  expect(new Set([...shown(first), ...shown(second)]).size).toBe(45);
  expect(second).not.toContain('Next page');

  for (const [query, expected] of [
    ['q=S-1200', ['1200']],
    ['q=S-12', ['1200']],
    ['q=1200', ['1200']],
    ['q=12', ['1200']],
    ['q=product+12', ['1200']],
    ['q=variant+120', ['1200']],
    ['warehouse=2', ['5400']],
    ['q=S-1200&warehouse=2', []],
    ['q=nothing-has-this', []],
    ['suspect=1', []],
    ['q=S-1&after=1200', ['1300', '1400', '1500', '1600', '1700', '1800', '1900']],
  ] as const) {
    expect([query, shown(await show(ops, `/stock?${query}`))]).toEqual([query, expected]);
  }

  expect(words(await show(ops, '/stock?q=1200'))).toMatch(/read 100 s ago/);
  await change(databases, 'a', 1, { id: '1200', old: 9, new: 8 });
  const row = words(await show(ops, '/stock?suspect=1'));
  expect(row).toMatch(/S-1200 .* 1 8 a webhook is late or lost webhook just now/);

  for (let i = 0; i < 45; i += 1)
    await change(databases, `b${i}`, 1, { id: `${10 + i}00`, old: 90, new: 80 });
  const suspects = await show(ops, '/stock?suspect=1');
  const rest = await show(ops, linkTo(suspects, 'Next page'));
  expect([shown(suspects).length, shown(rest).length]).toEqual([40, 5]);
  expect(new Set([...shown(suspects), ...shown(rest)]).size).toBe(45);
  expect(words(await show(ops, '/stock?suspect=1&after=5400'))).toContain('There are no more.');
});

test('shows a delivery with its bytes', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  const sentAtMs = Date.UTC(2026, 10, 23, 14, 4, 57);
  const text = `{"request_id":"r-<1>", "big": 12345678901234567890, "event_type":"stock_available_updated",
    "request_time": ${sentAtMs}, "data":{"items":[]}}`;
  const { seq } = await databases.deliver(Buffer.from(text), sentAtMs + 3_000);
  const page = await show(ops, `/deliveries/${seq}`);
  expect(words(page)).toContain('Arrived 2026-11-23 14:05:00 UTC Sent 2026-11-23 14:04:57 UTC');
  const [pretty, raw] = [...page.matchAll(/<pre[^>]*>([^<]*)<\/pre/g)].map(([, body]) =>
    present(body).replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>'),
  );
  expect(raw).toBe(text);
  expect(pretty).toContain('{\n  "request_id": "r-<1>",\n  "big": 12345678901234567890,\n');

  const odd = await databases.deliver(Buffer.from([0x7b, 0xff, 0x7b]), Date.now());
  const shown = words(await show(ops, `/deliveries/${odd.seq}`));
  expect(shown).toMatch(
    /not understood .*not stated .*3 bytes as received; \ufffd replaces bytes .* \{\ufffd\{/,
  );
});

test('lists a delivery without items, and one whose body is too large to be parsed', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  const body = { request_id: 'r-1', event_type: 'stock_available_updated', request_time: Date.now() };
  await databases.deliver(Buffer.from(JSON.stringify({ ...body, data: { items: [] } })), Date.now());
  await change(databases, 'x'.repeat(70 << 10), 1, { old: 9, new: 8 });
  expect(words(await show(ops, '/deliveries'))).toMatch(
    / 2 2\S+ \S+ UTC Too large for this list – 1 2\S+ \S+ UTC none /,
  );
});

test('lists runs, and shows one with its progress', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  await read(databases);
  const deps = { mirror: databases.mirror, now: () => Date.now() - 4_000, log };
  const run = await beginCatalogueRun(deps, 'operator');
  const { id } = run;
  databases.change('UPDATE runs SET total = 8, done = 2 WHERE id = ?', run.id);
  const page = await show(ops, `/runs/${id}`);
  expect(page).toMatch(/<progress\s+max="8"\s+value="2"/);
  expect(words(page)).toMatch(/0\.5 products per second, about 12 s left/);
  databases.change('UPDATE runs SET done = 4 WHERE id = ?', run.id);
  expect(words(await show(ops, `/runs/${id}`))).toMatch(/1 product per second, about 4 s left/);
  databases.change('UPDATE runs SET done = 2 WHERE id = ?', run.id);
  expect(await show(ops, '/')).toContain(`href="/runs/${id}"`);
  await endRun(deps, run, null);
  expect(words(await show(ops, '/runs'))).toMatch(/Run 1: full resync done .* 2 of 8/);
  expect(words(await show(ops, '/'))).toMatch(
    /Last full read 4 s ago ?: 2 products, 0 values compared in 0 s, all equal\./,
  );
  for (const path of ['/runs/99', '/runs/x']) expect((await ops.ask(path)).status).toBe(404);
});

test('keeps what a full read compared and found, and shows it everywhere', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  await read(databases);
  const deps = { mirror: databases.mirror, now: () => Date.now() - 9_000, log };
  const run = await beginCatalogueRun(deps, 'operator');
  const found = detail('1', [{ id: '100', levels: { 1: 9 } }]);
  for (const secondsAgo of [7, 5]) {
    await databases.mirror.append(readInput('1', found, { sentAtMs: Date.now() - secondsAgo * 1_000 }));
  }
  await endRun(deps, run, null);
  databases.change('UPDATE runs SET done = 1, failed = 1 WHERE id = ?', run.id);
  await change(databases, 'later', 1, { old: 9, new: 8 });

  const proof = { compared: 2, failed: 1 };
  const byReason = { lost_tail: 1 };
  expect((await ops.ask('/api/status')).json).toMatchObject({
    last_full_read: { run_id: run.id, products: 1, differences: 1, by_reason: byReason, ...proof },
  });
  expect((await ops.ask(`/api/runs/${run.id}`)).json).toMatchObject({
    ...proof,
    drift: 1,
    drift_by_reason: byReason,
  });
  expect(words(await show(ops, '/'))).toContain(
    '1 product, 2 values compared in 0 s, 1 difference corrected (lost last delivery: 1), 1 product could not be read.',
  );
  expect(words(await show(ops, `/runs/${run.id}`))).toMatch(
    /Compared 2 values .* 1 difference corrected \(lost last delivery: 1\) all differences/,
  );
});

test('shows the removals of a run, and who allowed them', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  await holdRemovals(databases);
  const { id: runId } = await beginCatalogueRun({ mirror: databases.mirror, now: Date.now, log }, 'operator');
  const decision = { by: 'Ana', reason: 'end of season', productIds: ['2', '3'], runId };
  await databases.mirror.append({ kind: 'allow_removals', atMs: Date.now(), ...decision });
  for (const id of ['1', '2', '3']) {
    await databases.mirror.append(readInput(id, null, { sentAtMs: Date.now() }));
  }
  expect(words(await show(ops, `/runs/${runId}`))).toMatch(
    /Removed 2 quantities .* Removals allowed by Ana: end of season/,
  );
  expect((await ops.ask(`/api/runs/${runId}`)).json).toMatchObject({
    removed: 2,
    allowed_by: 'Ana',
    allowed_why: 'end of season',
  });
});

test('starts the runs that its forms request and redirects to them', async () => {
  const databases = newDatabases();
  const operator = operatorOf(databases);
  const ops = await startOps(databases, { operator });
  for (const fields of [{ product_id: '12' }, {}] as const) {
    expect(await post(ops, '/page/resync', fields)).toMatchObject({
      status: 303,
      headers: { location: '/runs/1' },
    });
  }
  expect(operator.orders).toEqual([
    { productIds: ['12'], decision: null },
    { productIds: null, decision: null },
  ]);
  const { status, text } = await post(ops, '/page/resync', { product_id: '1 <b>' });
  expect([status, text.includes('“1 &lt;b&gt;” is not a product id')]).toEqual([400, true]);
  expect(operator.orders).toHaveLength(2);
});

test('lists held removals, and removes them only with the token typed again', async () => {
  const databases = newDatabases();
  const operator = operatorOf(databases);
  const ops = await startOps(databases, { operator, token: TOKEN });
  await holdRemovals(databases);
  const cookie = cookieOf(await post(ops, '/login', { token: TOKEN }));
  const shown = async (path: string) => (await ops.ask(path, { headers: { cookie } })).text;
  const held = await shown('/problems/held');
  expect(words(held)).toContain('Held removals 3');
  expect(held.indexOf('Remove all from the mirror')).toBeLessThan(held.indexOf('id="held-2"'));
  expect(words(held)).toMatch(/Product 2 product 2 the product S-200 1 5 100 s ago/);
  expect(words(held)).toMatch(/15 units would disappear, .* 3 quantities of 3 products, 15 units in all/);
  expect(words(await shown('/'))).toMatch(
    /until you decide; only they are not trusted. What to do: .* held_removals warning/,
  );

  const decision = { by: 'Ana', reason: 'end of season' };
  const decided = { ...decision, which: 'all' };
  const ticked = { ...decision, which: 'ticked' };
  for (const [fields, status, problem] of [
    [{ ...decided, token: '' }, 403, 'The token is wrong'],
    [{ ...decided, token: 'a-wrong-token-0123456789' }, 403, 'The token is wrong'],
    [{ ...decided, by: ' ', token: TOKEN }, 400, 'give your name and a reason'],
    [{ by: 'Ana', token: TOKEN }, 400, 'give your name and a reason'],
    [{ ...ticked, token: TOKEN }, 400, 'tick the products'],
  ] as const) {
    const refused = await post(ops, '/problems/removals', fields, { cookie });
    expect([refused.status, words(refused.text)]).toEqual([status, expect.stringContaining(problem)]);
  }
  expect(operator.orders).toEqual([]);
  expect(await post(ops, '/problems/removals', { ...decided, token: TOKEN }, { cookie })).toMatchObject({
    status: 303,
    headers: { location: '/runs/1' },
  });
  await post(ops, '/problems/removals', { ...ticked, product_id: '2', token: TOKEN }, { cookie });
  expect(operator.orders).toEqual([
    { productIds: null, decision },
    { productIds: ['2'], decision },
  ]);

  const open = await startOps(databases, { operator });
  expect(await show(open, '/problems/held')).not.toContain('type="password"');
  expect((await post(open, '/problems/removals', decided)).status).toBe(303);
});

test('lists products whose reads fail, with a retry', async () => {
  const databases = newDatabases();
  const operator = operatorOf(databases);
  const ops = await startOps(databases, { operator });
  await read(databases);
  expect(words(await show(ops, '/problems/failing'))).toContain('No read fails.');
  const error = '403 access_denied: not for this channel';
  const refused = refusedRead('1', { atMs: Date.now() - 5_000, attempts: 3, error });
  await databases.mirror.command('failRead', refused);
  const page = await show(ops, '/problems/failing');
  expect(words(page)).toMatch(
    /Product 1 product 1 5 s ago 403 access_denied: not for this channel 3 with the next schedule/,
  );
  expect(page).toContain('<input type="hidden" name="product_id" value="1" />');
  await post(ops, '/page/resync', { product_id: '1' });
  expect(operator.orders).toEqual([{ productIds: ['1'], decision: null }]);
});

test('lists the differences that reads corrected', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  expect(words(await show(ops, '/problems/differences'))).toContain('No read has found a difference.');
  await read(databases);
  const found = detail('1', [{ id: '100', levels: { 1: 9 } }]);
  await databases.mirror.append(readInput('1', found, { sentAtMs: Date.now() - 5_000 }));
  expect(words(await show(ops, '/problems/differences'))).toMatch(
    /S-100 Product 1, Variant 100 1 5 9 \+4 Lost last delivery/,
  );
  for (const [total, secondsAgo] of [
    [6, 60],
    [4, 30],
  ] as const) {
    const bundle = detail('2', [{ id: '200', levels: null, total, more: { product_bundle_id: '9' } }]);
    await databases.mirror.append(readInput('2', bundle, { sentAtMs: Date.now() - secondsAgo * 1_000 }));
  }
  expect(words(await show(ops, '/problems/differences'))).not.toContain('Derived');
  expect(words(await show(ops, '/problems/differences?derived=1'))).toMatch(
    /Variant 200 total 6 4 −2 Derived .*\+4 Lost last delivery/,
  );
  const history = words(await show(ops, '/variants/100'));
  expect(history).toContain('Lost last delivery found by a read');
  expect(history).toContain('First read');
  expect(history).not.toContain('First read found by a read');
});

test('requires a sign-in for pages and forms if a token is set', async () => {
  const databases = newDatabases();
  const operator = operatorOf(databases);
  const ops = await startOps(databases, { operator, token: TOKEN });
  for (const path of [...PAGES, '/variants/1', '/runs/1']) {
    expect((await ops.ask(path)).status).toBe(401);
    expect((await ops.ask(path, { headers: { accept: 'text/html' } })).status).toBe(303);
  }
  expect((await post(ops, '/page/resync', {})).status).toBe(401);
  expect(operator.orders).toEqual([]);
  const cookie = cookieOf(await post(ops, '/login', { token: TOKEN }));
  const { status, text } = await ops.ask('/', { headers: { cookie } });
  expect([status, text.includes('Sign out')]).toEqual([200, true]);
});

test('escapes names and loads nothing from other sites', async () => {
  const databases = newDatabases();
  const name = '<script>alert(1)</script>"\'&';
  const ops = await startOps(databases, {
    operator: operatorOf(databases, {
      blocked: { kind: 'breaker', message: name, sinceMs: 0 },
    }),
  });
  const found = detail('1', [{ id: '100', levels: { 1: 5 }, more: { name, sku: name } }], { name });
  await databases.mirror.append(readInput('1', found, { sentAtMs: Date.now() - 100_000 }));
  await change(databases, name, 50, {
    sku: name,
    old: 9,
    new: 8,
    reason: name,
    order_id: name,
    user_id: name,
  });
  await change(databases, `${name}2`, 40, { old: 8, new: name });
  databases.change(
    `UPDATE due_reads SET attempts = 1, last_error = ?, failed_at_ms = 1 WHERE product_id = '1'`,
    name,
  );
  const query = encodeURIComponent(name);
  const pages = await Promise.all(
    [
      ...PAGES,
      `/stock?q=${query}`,
      `/stock?warehouse=${query}&after=${query}`,
      '/variants/100',
      '/deliveries/2',
      '/deliveries?show=dead-letters',
    ].map((path) => show(ops, path)),
  );
  let escaped = 0;
  for (const page of pages) {
    expect(page).toContain('</html>');
    expect(page).not.toContain('<script>alert');
    expect(page).not.toContain(`"'&`);
    expect(page).not.toMatch(/<style|style="|\son\w+=|<script(?! type="module" src="\/page\/script\.js">)/);
    const linked = [...page.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, address]) =>
      present(address),
    );
    expect(linked.filter((address) => !/^(\/(?!\/)|#|data:,$)/.test(address))).toEqual([]);
    if (page.includes('&lt;script&gt;alert(1)&lt;/script&gt;')) escaped += 1;
  }
  expect(escaped).toBeGreaterThan(5);
  const { text: home } = await ops.ask('/');
  const named = [...home.matchAll(/(?:href|src)="(\/page\/[^"]+)"/g)].map(([, path]) => present(path));
  for (const path of [...named, '/page/idiomorph.js', '/page/uplot.js']) {
    const { status, headers: sent } = await ops.ask(path);
    const type = path.endsWith('.css') ? 'text/css' : 'text/javascript';
    expect([path, status, sent['content-type']]).toEqual([path, 200, `${type}; charset=utf-8`]);
  }
  expect(named.length).toBeGreaterThan(2);
});

test('labels every input, and gives every table a head and roles', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  await read(databases);
  for (const path of [...PAGES, '/variants/100']) {
    const page = await show(ops, path);
    for (const { 0: tag, index } of page.matchAll(/<(input|select)\b[^>]*>/g)) {
      const before = page.slice(0, index);
      const isInLabel = before.lastIndexOf('<label') > before.lastIndexOf('</label');
      expect(isInLabel || /type="hidden"|aria-label=/.test(tag), tag).toBe(true);
    }
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => present(id));
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    for (const [, names] of page.matchAll(/aria-labelledby="([^"]+)"/g)) expect(ids).toContain(names);
    for (const [table] of page.matchAll(/<table[^]*?<\/table>/g)) {
      expect(table).toContain('<th scope="col"');
      const withoutRole = [...table.matchAll(/<(?:table|thead|tbody|tr|th|td)\b(?![^>]*\srole=)[^>]*>/g)];
      expect(withoutRole.map(String)).toEqual([]);
    }
  }
});

test('plots the last day, with a gap where no mirror ran', async () => {
  const minutes = Array.from({ length: 40 }, (_, at) =>
    at === 10 || at === 30 ? { deliveries: 1_200, refused: 10, lost: 2, suspects: 3 } : null,
  );
  const day = [minutes[10], ...Array.from({ length: 1_399 }, () => null), ...minutes].map((it) => it ?? null);
  const page = (await plotsView(day, Date.UTC(2026, 8, 16, 12), 'day')).toString();
  const plots = [...page.matchAll(/data-plot="([^"]*)"/g)].map(
    ([, json]) => JSON.parse(present(json).replaceAll('&quot;', '"')) as unknown,
  );
  expect(plots).toHaveLength(3);
  expect(plots[0]).toMatchObject({
    series: [
      { values: expect.arrayContaining([1_200, null]) },
      { values: expect.arrayContaining([10, null]) },
    ],
  });
  expect((plots[0] as { times: number[] }).times).toHaveLength(144);
  expect(words(page)).toContain('Deliveries per minute 3,600 committed, 30 refused');
  expect(words(page)).toContain('Suspect quantities at most 3');
});

test('marks starts and full reads in the plots, and draws no axes without values', async () => {
  const minutes = [
    ...Array.from({ length: 1_437 }, () => null),
    { starts: 1, deliveries: 0, lost: 0 },
    { fullReads: 1, deliveries: 4 },
    { deliveries: 2 },
  ];
  const endMs = Date.UTC(2026, 8, 16, 12);
  const page = (await plotsView(minutes, endMs, 'hour')).toString();
  const [json, ...others] = [...page.matchAll(/data-plot="([^"]*)"/g)].map(([, text]) => text);
  expect(others).toEqual([]);
  expect(JSON.parse(present(json).replaceAll('&quot;', '"'))).toMatchObject({
    marks: [
      { time: endMs / 1_000 - 180, name: 'start' },
      { time: endMs / 1_000 - 120, name: 'full read' },
    ],
  });
  expect(words(page)).toMatch(/11:58:00 UTC 4 0 – 0 0 – – full read .* 11:57:00 UTC 0 0 – 0 0 – – start /);
});

test('plots the time that the reader chooses', async () => {
  const ops = await startOps(newDatabases());
  const chosen = async (path: string) =>
    /href="\/\?span=\w+"\s+aria-current="page"\s*>([^<]*)</.exec(await show(ops, path))?.[1];
  expect(await chosen('/')).toBe('1 hour');
  expect(await chosen('/?span=unknown')).toBe('1 hour');
  expect(await chosen(linkTo(await show(ops, '/'), '6 hours'))).toBe('6 hours');
});

test('offers what the page can do about a cause', async () => {
  const databases = newDatabases();
  const blocked = { kind: 'credentials', message: '401', sinceMs: 0 } as const;
  const ops = await startOps(databases, { operator: operatorOf(databases, { blocked }) });
  await holdRemovals(databases);
  const page = await show(ops, '/');
  expect(linkTo(page, 'Decide about removals')).toBe('/problems/held');
  expect(page).toMatch(
    /id="cause-credentials"[^]*?<form method="post" action="\/page\/resync">\s*<button[^>]*>Read everything again</,
  );
});

test('links a delivery that does not settle its quantity with what the read found', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  await read(databases);
  await change(databases, 'a', 1, { old: 9, new: 8 });
  const page = await show(ops, '/deliveries/1');
  expect(linkTo(page, 'see what a read found')).toBe('/variants/100#history');
});

test('never says both that there is something and that there is nothing', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  databases.change('UPDATE service_state SET last_full_sync_at_ms = ?', Date.now());
  expect(words(await show(ops, '/'))).toContain(
    'There is nothing to sell The mirror has no quantity to sell.',
  );
  const body = { request_id: 'r-1', event_type: 'stock_available_updated', request_time: Date.now() };
  await databases.deliver(Buffer.from(JSON.stringify({ ...body, data: { items: [] } })), Date.now());
  expect(words(await show(ops, '/deliveries/1'))).toMatch(/ understood .* It has no items\./);
  expect(words(await show(ops, '/deliveries?before=1'))).toContain('There are no more.');
  expect(words(await show(ops, '/runs?before=1'))).toContain('There are no more.');
  expect(words(await show(ops, '/problems/failing'))).not.toContain('these products');
});

test('plots the last hour of a new mirror, with the values in a table', async () => {
  const minutes = [
    ...Array.from({ length: 1_435 }, () => null),
    ...[3, 5, 7, 9, 11].map((deliveries) => ({ deliveries, suspects: 1 })),
  ];
  const page = (await plotsView(minutes, Date.UTC(2026, 8, 16, 12), 'hour')).toString();
  const [, json = ''] = /data-plot="([^"]*)"/.exec(page) ?? [];
  const { times, series } = JSON.parse(json.replaceAll('&quot;', '"')) as {
    times: number[];
    series: { values: (number | null)[] }[];
  };
  expect(times).toHaveLength(60);
  expect(series[0]?.values.slice(-6)).toEqual([null, 3, 5, 7, 9, 11]);
  expect(words(page)).toMatch(/2026-09-16 11:59:00 UTC 11 0 – 0 0 1 – 2026-09-16 11:58:00 UTC 9/);
});

test('groups stock by variant, and filters by warehouse and by nothing to sell', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  await databases.mirror.command('nameWarehouses', { names: { 2: 'Bangkok' } });
  const variants = [
    { id: '100', levels: { 1: 5, 2: 0 } },
    { id: '101', levels: { 1: 7 } },
  ];
  await databases.mirror.append(readInput('1', detail('1', variants), { sentAtMs: Date.now() - 100_000 }));
  const page = await show(ops, '/stock');
  expect(page.match(/<th scope="rowgroup" rowspan="\d+"/g)).toEqual([
    '<th scope="rowgroup" rowspan="2"',
    '<th scope="rowgroup" rowspan="1"',
  ]);
  expect(page).toContain('<option value="2" >Bangkok (2)</option>');
  expect(words(page)).toMatch(/Suspect 0 Nothing to sell/);
  const rows = (shown: string) => [...shown.matchAll(/<tr id="level-([\d-]+)"/g)].map(([, id]) => id);
  expect(rows(page)).toEqual(['100-1', '100-2', '101-1']);
  expect(rows(await show(ops, '/stock?empty=1'))).toEqual(['100-2']);
  expect(rows(await show(ops, '/stock?empty=1&warehouse=1'))).toEqual([]);
  expect(await show(ops, '/stock?warehouse=2')).toContain('<option value="2" selected>Bangkok (2)</option>');
});

test('names a warehouse, unless the settings do', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases, { namedBySettings: new Map([['2', 'Bangkok']]) });
  await databases.mirror.append(
    readInput('1', detail('1', [{ id: '100', levels: { 1: 5, 2: 0 } }]), { sentAtMs: Date.now() }),
  );
  const save = (id: string, name: string) => post(ops, '/page/warehouse', { id, name });
  const named = () => databases.mirror.ask('warehouseNames');

  expect(await show(ops, '/stock')).not.toContain('/page/warehouse');
  expect(await show(ops, '/stock?warehouse=2')).not.toContain('/page/warehouse');
  expect(await show(ops, '/stock?warehouse=1')).toContain('action="/page/warehouse"');

  const saved = await save('1', ' Main <b>store</b> ');
  expect(saved).toMatchObject({ status: 303, headers: { location: '/stock?warehouse=1' } });
  expect(await named()).toEqual(new Map([['1', 'Main <b>store</b>']]));
  for (const path of ['/stock', '/stock?warehouse=1', '/variants/100']) {
    expect(await show(ops, path)).toContain('Main &lt;b&gt;store&lt;/b&gt;');
  }

  expect(words((await save('2', 'Elsewhere')).text)).toContain('WAREHOUSE_NAMES names warehouse 2');
  expect(words((await save('x', 'Elsewhere')).text)).toContain('“x” is not a warehouse id');
  expect(words((await save('1', 'x'.repeat(61))).text)).toContain('A name has 1 to 60 characters');
  expect((await named()).get('1')).toBe('Main <b>store</b>');
  await save('1', ' ');
  expect(await named()).toEqual(new Map());
});

test('lists the stock by SKU, in pages that keep the search and the filters', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  for (let i = 0; i < 45; i += 1) {
    const variant = { id: `${10 + i}00`, levels: { 1: 0, 2: 5 }, more: { sku: `S-${99 - i}` } };
    await databases.mirror.append(
      readInput(`${10 + i}`, detail(`${10 + i}`, [variant]), { sentAtMs: Date.now() }),
    );
  }
  const rows = (shown: string) => [...shown.matchAll(/<tr id="level-([\d-]+)"/g)].map(([, id]) => id);
  const ids = Array.from({ length: 45 }, (_, i) => `${54 - i}00-1`);
  const first = await show(ops, '/stock?q=S-&warehouse=1&empty=1');
  expect(rows(first)).toEqual(ids.slice(0, 40));
  const second = await show(ops, linkTo(first, 'Next page'));
  expect(rows(second)).toEqual(ids.slice(40));
  expect(rows(await show(ops, linkTo(second, '⇤ First page')))).toEqual(ids.slice(0, 40));
});

test('shows the command of a remedy as this installation types it, to copy', async () => {
  const databases = newDatabases();
  const blocked = { kind: 'credentials', message: '401', sinceMs: 0 } as const;
  const operator = operatorOf(databases, { blocked });
  const commandOf = (command: string) => command.replace('stock-mirror ', 'npm run ');
  const page = await show(await startOps(databases, { operator, commandOf }), '/');
  expect(page).toContain('<code id="command-credentials-1" class="command">npm run resync</code');
  expect(page).toContain('data-copy="command-credentials-1"');
});

test('shows only suspect rows on demand, and greys values of a variant that are older than the quantity', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  const found = detail('1', [{ id: '100', levels: { 1: 5, 2: 7 } }]);
  await databases.mirror.append(readInput('1', found, { sentAtMs: Date.now() - 100_000 }));
  await change(databases, 'a', 2, { old: 5, new: 4 });
  expect(await show(ops, '/variants/100')).toMatch(
    /<span class="quiet" title="100 s old: read before the last change">6<\/span>/,
  );
  await change(databases, 'b', 1, { old: 9, new: 8 });
  const rows = (page: string) => [...page.matchAll(/<tr id="level-([\d-]+)"/g)].map(([, id]) => id);
  expect(rows(await show(ops, '/stock'))).toEqual(['100-1', '100-2']);
  expect(rows(await show(ops, '/stock?suspect=1'))).toEqual(['100-1']);
});

test('shows the total of a pulled product next to a warehouse that no read can verify', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  const pulled = { id: '100', levels: null, total: 9, more: { pulled_from_product_variant_id: '7' } };
  await databases.mirror.append(readInput('1', detail('1', [pulled]), { sentAtMs: Date.now() - 100_000 }));
  await change(databases, 'a', 60, { old: 5, new: 4 });
  await databases.mirror.append(
    readInput('1', detail('1', [{ ...pulled, total: 8 }]), { sentAtMs: Date.now() - 10_000 }),
  );
  const page = words(await show(ops, '/stock'));
  expect(page).toMatch(/total \(another seller’s stock\) 8 as of/);
  expect(page).toMatch(/ 1 4 no read shows it: use the total webhook/);
  const suspects = words(await show(ops, '/stock?suspect=1'));
  expect(suspects).toMatch(/Suspect 0 .*No match/);
});

test('marks a variant’s total like the warehouses that it is the sum of', async () => {
  const databases = newDatabases();
  let blocked: Operator['blocked'] = null;
  const operator = {
    ...operatorOf(databases),
    get blocked() {
      return blocked;
    },
  };
  const ops = await startOps(databases, { operator });
  await read(databases);
  const page = async () => words(await show(ops, '/variants/100'));
  const doubt = /a webhook is late or lost|no value is trusted/;
  expect(await page()).not.toMatch(doubt);
  await change(databases, 'b', 1, { old: 9, new: 8 });
  await expect.poll(page).toMatch(/ 1 8 .* a webhook is late .* Total 8 a webhook is late /);
  databases.change('DELETE FROM gaps');
  expect(await page()).not.toMatch(doubt);
  blocked = { kind: 'credentials', message: '401', sinceMs: 0 };
  expect(await page()).toMatch(/ 1 8 .* no value is trusted now .* Total 8 no value is /);
});

test('shows why a page cannot be shown, and tries it again', async () => {
  const databases = newDatabases();
  const away = { ask: () => Promise.reject(new SqliteFault('unreachable', 'mirror.db was moved')) };
  const ops = await startOps(databases, { reader: away });
  const { status, text } = await ops.ask('/stock', { headers: { accept: 'text/html' } });
  expect(status).toBe(503);
  expect(words(text)).toContain('mirror.db was moved');
  expect(text).toMatch(/data-every="\d+"/);
});
