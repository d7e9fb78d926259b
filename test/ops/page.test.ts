/** The ops page without scripts, over a real store and socket: what it shows, what its forms do, whose forms it refuses. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { LATEST_MS } from '../../src/core/limits.ts';
import type { Operator } from '../../src/ops/shared/operator.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { FIGURES, LiveTimeline, type Minute } from '../../src/ops/state/timeline.ts';
import { plotsView } from '../../src/ops/page/plots-view.ts';
import { beginCatalogueRun, endRun } from '../../src/reconcile/runs.ts';
import { present } from '../shared/present.ts';
import { log, newStore, type OpenedStore } from '../reconcile/mirror.ts';
import { delivery, detail, item, readInput } from '../mirror/mirror-file.ts';
import { startOps, TOKEN, type Ops } from './harness.ts';

/** The address of the link with these words. */
function linkTo(page: string, linkWords: string): string {
  const address = new RegExp(`href="([^"]*)"[^>]*>${linkWords}`).exec(page)?.[1];
  if (address === undefined) throw new Error(`no link “${linkWords}”`);
  return address.replaceAll('&amp;', '&');
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** What a reader sees, without the markup. */
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

/** Product 1 with variant 100, in warehouse 1: read as `qty`, `secondsAgo` before now. */
async function read(
  store: OpenedStore,
  {
    qty,
    secondsAgo,
    productId = '1',
    variantId = '100',
  }: {
    readonly qty: number;
    readonly secondsAgo: number;
    readonly productId?: string;
    readonly variantId?: string;
  },
) {
  await store.writer.append(
    readInput(productId, detail(productId, [{ id: variantId, levels: { 1: qty } }]), {
      sentAtMs: Date.now() - secondsAgo * 1_000,
      s0: store.writer.s0,
    }),
  );
}

/** A change of variant 100 that happened, and came, `secondsAgo`. */
const change = (
  store: OpenedStore,
  requestId: string,
  secondsAgo: number,
  over: Parameters<typeof item>[0] = {},
) => {
  const atMs = Date.now() - secondsAgo * 1_000;
  return store.deliver(delivery(requestId, item({ update_time: atMs, ...over })), atMs);
};

interface Order {
  readonly productIds: readonly string[] | null;
  readonly allowRemovals: boolean;
}

/** Notes what it is told, and begins a run for it. */
function operatorOf(
  store: OpenedStore,
  over: Partial<Operator> = {},
): Operator & { readonly orders: Order[] } {
  const orders: Order[] = [];
  return {
    orders,
    resync: async (productIds, { allowRemovals }) => {
      orders.push({ productIds, allowRemovals });
      return { ...(await beginCatalogueRun({ store, now: Date.now, log }, 'operator')), joined: false };
    },
    blocked: null,
    readsUnderWay: 0,
    ...over,
  };
}

/** Where counting takes long, counts may be those of a while ago. */
const RECOUNT = { timeout: 10_000 };

const PAGES = ['/', '/stock', '/stock?suspect=1', '/deliveries', '/runs'];

test('says what state the mirror is in, why, and what to do', async () => {
  const store = newStore();
  const ops = await startOps(store);
  store.change('UPDATE service_state SET alive_at_ms = ?, clock_ms = unixepoch() * 1000', Date.now());
  expect(words(await show(ops, '/'))).toMatch(
    /Catching up .*first read of the whole catalogue is not finished.* What to do: Nothing/,
  );

  await read(store, { qty: 5, secondsAgo: 100 });
  store.change('UPDATE service_state SET last_full_sync_at_ms = ?', Date.now());
  expect(words(await show(ops, '/'))).toMatch(
    /Live All figures are current\. Every product was read .* no read is due/,
  );

  // A break in the chain: 5, then from 9 to 8.
  await change(store, 'a', 1, { old: 9, new: 8 });
  const overview = async () => words(await show(ops, '/'));
  await expect.poll(overview, RECOUNT).toMatch(/Live, repairing 1 of 1 stock levels are uncertain/);
  const page = await overview();
  expect(page).toContain('1 gap is open: a delivery from the store is late or lost');
  expect(page).toMatch(/Open gaps 1 /);
  expect(page).toMatch(/Not applied yet 0 deliveries/);

  await store.writer.append({
    kind: 'request_reads',
    atMs: Date.now() - 16 * 60_000,
    reason: 'conflict',
    productIds: ['1'],
    variantIds: [],
  });
  store.change('UPDATE service_state SET alive_at_ms = ?, clock_ms = unixepoch() * 1000', Date.now());
  const late = words(await show(ops, '/'));
  expect(late).toMatch(
    /Blocked A re-read request has waited for longer than 15 min: there .* The oldest re-read request has been waiting for 16 min/,
  );
  expect(late).toContain('deliveries and reads contradict each other 1 yes');

  store.change('UPDATE service_state SET alive_at_ms = ?', Date.now() - 60_000);
  expect(words(await show(ops, '/'))).toContain('The mirror’s tables are not written');
});

test('warns of removals that are held, and asks twice before they are allowed', async () => {
  const store = newStore();
  const ops = await startOps(store);
  await read(store, { qty: 5, secondsAgo: 100 });
  expect(words(await show(ops, '/'))).toContain('None is waiting.');
  store.change(
    `INSERT INTO read_requests (product_id, reason, priority, is_suspect, made_seq, made_at_ms, first_made_at_ms, not_before_ms)
     VALUES ('1', 'confirm_removal', 4, 0, 1, 1, 1, ?)`,
    LATEST_MS,
  );
  await expect
    .poll(async () => words(await show(ops, '/')), RECOUNT)
    .toContain('The store no longer shows 1 product , too many at once');
  store.change(
    'UPDATE service_state SET alive_at_ms = ?, clock_ms = unixepoch() * 1000, last_full_sync_at_ms = 1',
    Date.now(),
  );
  store.change('UPDATE read_requests SET is_suspect = 1');
  expect(words(await show(ops, '/'))).toMatch(
    /Blocked The store no longer shows much at once, and 1 removal waits for a decision/,
  );
  expect(await show(ops, '/')).toMatch(/<input type="checkbox" name="sure" required/);
  expect(words(await show(ops, '/variants/100'))).toContain('kept until you allow removals');
});

test('says by what it is blocked, and lets the operator try the credentials again', async () => {
  const store = newStore();
  const message =
    '401 invalid_client: no such client (refused at 2026-11-20T10:11:12.000Z, not tried again since)';
  const operator = operatorOf(store, { blocked: { kind: 'credentials', message, untilMs: null } });
  const since = Date.now() - 120_000;
  const alarms = {
    current: [
      { kind: 'credentials' as const, since, message },
      { kind: 'silence' as const, since, message: 'run `resync` <now>' },
    ],
    own: null,
    condition: null,
    maxRps: null,
  };
  const ops = await startOps(store, { operator, alarms });
  const page = await show(ops, '/');
  // What is refused, since when, what to do, what will happen; and it is said once.
  expect(words(page)).toMatch(
    /The store refuses the credentials\. .* What to do: correct SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET/,
  );
  expect(words(page)).toContain(
    '401 invalid_client: no such client (refused at 2026-11-20 10:11:12 UTC , not tried',
  );
  expect(words(page)).toContain('Try the credentials again They are tried once.');
  expect(page.match(/invalid_client/g)).toHaveLength(1);
  expect(page).toContain('Run <code>resync</code> &lt;now&gt;');
  expect(await post(ops, '/page/retry-credentials', { back: '/' })).toMatchObject({
    status: 303,
    headers: { location: '/?done=credentials&run=1' },
  });
  expect(operator.orders).toEqual([{ productIds: null, allowRemovals: false }]);
  const after = words(await show(ops, '/?done=credentials&run=1'));
  expect(after).toContain(
    'The credentials are tried once more. Run 1 reads everything if the store accepts them.',
  );
  expect(after).toMatch(/Full resync running 0 of \d/);
});

test('finds stock by SKU, ids, name and warehouse, page by page, with the freshness of each row', async () => {
  const store = newStore();
  const ops = await startOps(store);
  for (let i = 0; i < 45; i += 1) {
    const product = String(10 + i);
    const found = detail(product, [{ id: `${product}00`, levels: i === 44 ? { 2: 5 } : { 1: i } }]);
    await store.writer.append(readInput(product, found, { sentAtMs: Date.now() - 100_000, s0: 0 }));
  }
  const shown = (page: string) => [...page.matchAll(/id="variant-(\d+)"/g)].map(([, id]) => present(id));
  const first = await show(ops, '/stock');
  const second = await show(ops, linkTo(first, 'Next'));
  expect([shown(first).length, shown(second).length]).toEqual([40, 5]);
  expect(new Set([...shown(first), ...shown(second)]).size).toBe(45);
  expect(second).not.toContain('Next');

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
    ['q=S-1&after=sku&key=1200&key=S-1200', ['1300', '1400', '1500', '1600', '1700', '1800', '1900']],
  ] as const) {
    expect([query, shown(await show(ops, `/stock?${query}`))]).toEqual([query, expected]);
  }

  expect(words(await show(ops, '/stock?q=1200'))).toMatch(/read 10\d s ago .*As of 20\d\d-[\d-]* [\d:]* UTC/);
  await change(store, 'a', 1, { id: '1200', old: 9, new: 8 });
  const row = words(await show(ops, '/stock?suspect=1'));
  expect(row).toMatch(/S-1200 .* 1 8 3 1 suspect webhook [^]*a webhook/);

  for (let i = 0; i < 45; i += 1) await change(store, `b${i}`, 1, { id: `${10 + i}00`, old: 90, new: 80 });
  const suspects = await show(ops, '/stock?suspect=1');
  const rest = await show(ops, linkTo(suspects, 'Next'));
  expect([shown(suspects).length, shown(rest).length]).toEqual([40, 5]);
  expect(new Set([...shown(suspects), ...shown(rest)]).size).toBe(45);
  expect(words(await show(ops, '/stock?suspect=1&after=unmapped&key=&key=0&key=9'))).toContain(
    'There are no more.',
  );
});

test('a delivery’s page shows all that is kept of it: when, whose, which bytes', async () => {
  const store = newStore();
  const ops = await startOps(store);
  const sentAtMs = Date.UTC(2026, 10, 23, 14, 5);
  const text = `{"request_id":"r-<1>", "big": 12345678901234567890, "a":[],"event_type":"stock_available_updated",
    "request_time": ${sentAtMs}, "data":{"items":[]}}`;
  const { seq } = await store.deliver(Buffer.from(text), sentAtMs + 40);
  const page = await show(ops, `/deliveries/${seq}`);
  expect(words(page)).toContain('Arrived 2026-11-23 14:05:00 UTC , row 1 of the inbox');
  expect(words(page)).toContain('Sent 2026-11-23 14:05:00 UTC by the store’s clock, 40 ms before');
  expect(words(page)).toContain('Headers are not kept');
  expect(page).toContain(`data-id="${createHash('sha256').update(text).digest('hex')}"`);
  expect(page).toContain('data-id="r-&lt;1&gt;"');
  const pre = (id: string) => present(new RegExp(`<pre[^>]*id="${id}"[^>]*>([^<]*)</pre`).exec(page)?.[1]);
  const unescaped = (markup: string) =>
    markup.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>');
  expect(unescaped(pre('body-raw'))).toBe(text);
  expect(unescaped(pre('body-json')).split('\n').slice(0, 4)).toEqual([
    '{',
    '  "request_id": "r-<1>",',
    '  "big": 12345678901234567890,',
    '  "a": [],',
  ]);

  const bytes = Buffer.from([0x7b, 0xff, 0x7b]);
  const odd = await store.deliver(bytes, Date.now());
  const shown = words(await show(ops, `/deliveries/${odd.seq}`));
  expect(shown).toMatch(/Sent not said Request not said Body 3 bytes/);
  expect(shown).toMatch(/not understood .*Some bytes are no UTF-8.* It is no JSON\. As received \{\ufffd\{/);
});

test('lists runs, and shows one with its bar; without scripts it loads itself again while it runs', async () => {
  const store = newStore();
  const ops = await startOps(store);
  await read(store, { qty: 5, secondsAgo: 100 });
  const deps = { store, now: () => Date.now() - 4_000, log };
  const run = await beginCatalogueRun(deps, 'operator');
  const { id } = run;
  await store.writer.command('progressRun', { id, total: 8, done: 2, failed: 0 });
  const page = await show(ops, `/runs/${id}`);
  expect(page).toContain('<noscript><meta http-equiv="refresh" content="3"');
  expect(page).toMatch(/<progress\s+max="8"\s+value="2"/);
  expect(words(page)).toMatch(/0\.5 products per second, about 12 s left/);
  expect(page, 'a link to the page that it is on').not.toContain(`href="/runs/${id}"`);
  expect(await show(ops, '/')).toContain(`href="/runs/${id}"`);
  await endRun(deps, run, null);
  expect(await show(ops, `/runs/${id}`)).not.toContain('http-equiv');
  expect(words(await show(ops, '/runs'))).toMatch(/Full resync 1 done .* 2 of 8/);
  for (const path of ['/runs/99', '/runs/x']) expect((await ops.ask(path)).status).toBe(404);
});

test('its orders reach the operator, and a wrong one is refused in words', async () => {
  const store = newStore();
  const operator = operatorOf(store);
  const ops = await startOps(store, { operator });
  await read(store, { qty: 5, secondsAgo: 100 });
  for (const [path, fields, location] of [
    ['/page/resync-products', { product_ids: ' 12, 13\n12 ' }, '/?done=products&run=1'],
    [
      '/page/resync-products',
      { product_ids: '1', back: '/variants/100' },
      '/variants/100?done=products&run=1',
    ],
    ['/page/resync-products', { product_ids: '1', back: '//evil.example' }, '/?done=products&run=1'],
    ['/page/allow-removals', { sure: 'on' }, '/?done=removals&run=1'],
  ] as const) {
    expect(await post(ops, path, fields)).toMatchObject({ status: 303, headers: { location } });
  }
  expect(operator.orders).toEqual([
    { productIds: ['12', '13'], allowRemovals: false },
    { productIds: ['1'], allowRemovals: false },
    { productIds: ['1'], allowRemovals: false },
    { productIds: null, allowRemovals: true },
  ]);
  expect(words(await show(ops, '/?done=removals&run=1'))).toContain('Removals are allowed for one hour');

  for (const [path, fields, problem] of [
    ['/page/allow-removals', {}, 'Nothing was removed'],
    ['/page/resync-products', { product_ids: ' ' }, 'No product id was given'],
    ['/page/resync-products', { product_ids: '1 <b>' }, '“&lt;b&gt;” is not a product id'],
    ['/page/resync-products', { product_ids: 'x', back: '/variants/100' }, '“x” is not a product id'],
  ] as const) {
    const { status, text } = await post(ops, path, fields);
    expect([status, text.includes(problem), text.includes('role="alert"')]).toEqual([400, true, true]);
  }
  expect(operator.orders).toHaveLength(4);
});

test('with a token, pages and forms are for who is signed in', async () => {
  const store = newStore();
  const operator = operatorOf(store);
  const ops = await startOps(store, { operator, token: TOKEN });
  for (const path of [...PAGES, '/page/script.js', '/variants/1', '/runs/1']) {
    expect((await ops.ask(path)).status).toBe(401);
    expect((await ops.ask(path, { headers: { accept: 'text/html' } })).status).toBe(303);
  }
  expect((await post(ops, '/page/resync', {})).status).toBe(401);
  expect(operator.orders).toEqual([]);
  const { headers } = await post(ops, '/login', { token: TOKEN });
  const cookie = present(String(headers['set-cookie']).split(';')[0]);
  const { status, text } = await ops.ask('/', { headers: { cookie } });
  expect([status, text.includes('Sign out')]).toEqual([200, true]);
});

test('names are text, never markup, and nothing of another site is asked for', async () => {
  const store = newStore();
  const name = '<script>alert(1)</script>"\'&';
  const ops = await startOps(store, {
    operator: operatorOf(store, { blocked: { kind: name, message: name, untilMs: null } }),
    alarms: {
      current: [{ kind: 'silence', since: 1, message: name }],
      own: null,
      condition: null,
      maxRps: null,
    },
  });
  const found = detail('1', [{ id: '100', levels: { 1: 5 }, more: { name, sku: name } }], { name });
  await store.writer.append(readInput('1', found, { sentAtMs: Date.now() - 100_000, s0: 0 }));
  await change(store, name, 50, { sku: name, old: 9, new: 8, reason: name, order_id: name, user_id: name });
  await change(store, `${name}2`, 40, { old: 8, new: name });
  store.change(
    `INSERT INTO read_failures (product_id, attempts, faults, next_at_ms, parked, error, failed_at_ms) VALUES ('1', 1, 1, 0, 0, ?, 1)`,
    name,
  );
  const query = encodeURIComponent(name);
  const pages = await Promise.all(
    [
      ...PAGES,
      `/stock?q=${query}`,
      `/stock?warehouse=${query}&after=${query}&key=${query}`,
      '/variants/100',
      '/deliveries/2',
      '/deliveries?show=dead-letters',
      `/?done=${query}&run=${query}`,
    ].map((path) => show(ops, path)),
  );
  let escaped = 0;
  for (const page of pages) {
    expect(page).toContain('</html>');
    expect(page).not.toContain('<script>alert');
    expect(page).not.toContain(`"'&`);
    // Style and script come from here, and none stands in the page itself.
    expect(page).not.toMatch(/<style|style="|\son\w+=|<script(?! type="module" src="\/page\/script\.js">)/);
    const linked = [...page.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, address]) =>
      present(address),
    );
    expect(linked.filter((address) => !/^(\/(?!\/)|#|data:,$)/.test(address))).toEqual([]);
    if (page.includes('&lt;script&gt;alert(1)&lt;/script&gt;')) escaped += 1;
  }
  expect(escaped).toBeGreaterThan(8);
  const { headers } = await ops.ask('/');
  expect(headers['content-security-policy']).toContain(
    "default-src 'none'; script-src 'self'; style-src 'self'",
  );
  expect(headers['cache-control']).toBe('no-store');
  for (const [path, type] of [
    ['/page/style.css', 'text/css; charset=utf-8'],
    ['/page/script.js', 'text/javascript; charset=utf-8'],
  ]) {
    expect((await ops.ask(present(path))).headers['content-type']).toBe(type);
  }
  // What a page names in its head is served, and what its scripts import is named there.
  const { text: home } = await ops.ask('/');
  const named = [...home.matchAll(/(?:href|src)="(\/page\/[^"]+)"/g)].map(([, path]) => present(path));
  for (const path of named) {
    const { status, text } = await ops.ask(path);
    expect(status, path).toBe(200);
    for (const [, imported] of text.matchAll(/^import .*'\.\/(.+)';$/gm))
      expect(named).toContain(`/page/${imported}`);
  }
  expect(named.length).toBeGreaterThan(2);
});

test('every input has a label, every table a head, every plot its words', async () => {
  const store = newStore();
  const sampler = new StateSampler({ reader: store.reader, now: Date.now, log });
  const timeline = new LiveTimeline({
    reader: store.reader,
    writer: store.writer,
    sampler,
    now: Date.now,
    log,
  });
  const ops = await startOps(store, { timeline });
  timeline.answered(204, 3);
  await read(store, { qty: 5, secondsAgo: 100 });
  for (const path of [...PAGES, '/variants/100']) {
    const page = await show(ops, path);
    for (const { 0: tag, index } of page.matchAll(/<(input|select)\b[^>]*>/g)) {
      const before = page.slice(0, index);
      const isInLabel = before.lastIndexOf('<label') > before.lastIndexOf('</label');
      expect(isInLabel || tag.includes('type="hidden"'), tag).toBe(true);
    }
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => present(id));
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    for (const [, names] of page.matchAll(/aria-(?:labelledby|describedby)="([^"]+)"/g)) {
      for (const id of present(names).split(' ')) expect(ids).toContain(id);
    }
    for (const [table] of page.matchAll(/<table[^]*?<\/table>/g)) expect(table).toContain('<th scope="col"');
    for (const [svg] of page.matchAll(/<svg[^]*?<\/svg>/g)) expect(svg).toContain('aria-label=');
  }
  expect(present((await show(ops, '/')).match(/<svg/g)).length).toBeGreaterThanOrEqual(6);
});

test('a plot draws known values, and shows when no mirror ran', async () => {
  const minute = (at: number, over: Partial<Minute>): Minute => ({
    ...(Object.fromEntries(Object.keys(FIGURES).map((name) => [name, null])) as unknown as Minute),
    atMs: Date.UTC(2026, 8, 16, 12) + at * 60_000,
    isKnown: true,
    ...over,
  });
  const view = await plotsView({
    // One stretch each.
    minutes: [0, 10, 20, 30].flatMap((from) => [
      minute(
        from,
        [10, 30].includes(from) ? { deliveries: 1_200, refused: 10, lost: 2 } : { isKnown: false },
      ),
      ...Array.from({ length: 9 }, (_, i) => minute(from + 1 + i, { isKnown: false })),
    ]),
    present: { suspects: 3, pendingReads: 0 },
  });
  const page = view.toString();
  const plot = page.slice(page.indexOf('<svg'), page.indexOf('</svg>'));
  // What was before all that is known is no downtime.
  expect(plot.match(/class="down"/g)).toHaveLength(1);
  expect(plot.match(/<path class="bar a" d="(?:M[^M"]+){2}"/)).not.toBeNull();
  expect(words(page)).toContain('Deliveries per minute 2,400 committed, 20 refused committed refused');
  expect(words(page)).toContain('Suspect levels now 3, at most 3');
});
