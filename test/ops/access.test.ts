import { expect, test, vi } from 'vitest';
import { SESSION_MS } from '../../src/ops/access/sign-in.ts';
import { newDatabases } from '../reconcile/mirror.ts';
import { cookieOf, startOps, TOKEN, type Answer, type Ops } from './harness.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

function signIn(ops: Ops, token: string, headers: Record<string, string> = {}): Promise<Answer> {
  return ops.ask('/login', {
    body: new URLSearchParams({ token }).toString(),
    headers: { ...FORM, origin: ops.url, ...headers },
  });
}

test('refuses programs without the token and redirects browsers to the form', async () => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  for (const headers of [
    {},
    { authorization: 'Bearer wrong' },
    { authorization: TOKEN },
    { authorization: `Basic ${TOKEN}` },
    { authorization: `Bearer ${TOKEN}x` },
    { cookie: `stock_mirror=${TOKEN}` },
  ]) {
    const answer = await ops.ask('/api/status', { headers });
    expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_token' } });
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  }
  for (const path of ['/', '/openapi.json', '/nowhere', '/api/changes/stream']) {
    expect(await ops.ask(path)).toMatchObject({ status: 401 });
  }
  expect((await ops.ask('/readyz')).status).toBe(503);
  const people = await ops.ask('/api/runs?limit=5', { headers: { accept: 'text/html,*/*;q=0.8' } });
  expect(people.status).toBe(303);
  expect(people.headers['location']).toBe('/login?to=%2Fapi%2Fruns%3Flimit%3D5');
  expect((await ops.ask('/api/status', { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
  expect((await ops.ask('/api/status', { headers: { authorization: `bearer ${TOKEN}` } })).status).toBe(200);
});

test.each([
  ['/problems/held?after=5', '/problems/held?after=5'],
  ['//evil.example/', '/'],
  ['/\\evil.example/', '/'],
  ['https://evil.example/', '/'],
])('shows the page that was asked for after the sign-in, and never another site: %s', async (to, shown) => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  const answer = await ops.ask('/login', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: ops.url },
    body: new URLSearchParams({ token: TOKEN, to }).toString(),
  });
  expect(answer).toMatchObject({ status: 303, headers: { location: shown } });
});

test('signs a browser in and out by the form', async () => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  expect((await ops.ask('/login')).status).toBe(200);
  expect((await ops.ask('/page/style.css')).headers['content-type']).toMatch('text/css');

  const answer = await signIn(ops, ` ${TOKEN}\n`);
  expect(answer.status).toBe(303);
  expect(answer.headers['location']).toBe('/');
  const [line = ''] = answer.headers['set-cookie'] ?? [];
  expect(line.split('; ').slice(1).sort()).toEqual([
    'HttpOnly',
    `Max-Age=${SESSION_MS / 1000}`,
    'Path=/',
    'SameSite=Strict',
  ]);
  expect(line).not.toContain(TOKEN);
  const cookie = cookieOf(answer);

  expect((await ops.ask('/api/status', { headers: { cookie } })).status).toBe(200);
  const again = await ops.ask('/login', { headers: { cookie } });
  expect(again).toMatchObject({ status: 303, headers: { location: '/' } });

  const out = await ops.ask('/logout', { method: 'POST', headers: { cookie, origin: ops.url } });
  expect(out).toMatchObject({ status: 303, headers: { location: '/login' } });
  const [cleared = ''] = out.headers['set-cookie'] ?? [];
  expect(cleared).toMatch(/^stock_mirror_[0-9a-f]{8}=; Max-Age=0/);
  expect((await ops.ask('/api/status', { headers: { cookie } })).status).toBe(401);
});

test('marks the cookie Secure where TLS was used', async () => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  for (const [headers, isSecure] of [
    [{}, false],
    [{ 'x-forwarded-proto': 'https' }, true],
    [{ origin: 'https://ops.example', 'sec-fetch-site': 'same-origin' }, true],
  ] as const) {
    const [line = ''] = (await signIn(ops, TOKEN, headers)).headers['set-cookie'] ?? [];
    expect(line.split('; ').includes('Secure')).toBe(isSecure);
  }
});

test('ends a session after 12 hours or with the process', async () => {
  let nowMs = 1_790_000_000_000;
  const databases = newDatabases();
  const ops = await startOps(databases, { token: TOKEN, now: () => nowMs });
  const cookie = cookieOf(await signIn(ops, TOKEN));
  const status = async (sent: string, of = ops) =>
    (await of.ask('/api/status', { headers: { cookie: sent } })).status;
  nowMs += SESSION_MS - 1;
  expect(await status(cookie)).toBe(200);
  expect(await status(`${cookie}x`)).toBe(401);
  nowMs += 1;
  expect(await status(cookie)).toBe(401);

  const kept = cookieOf(await signIn(ops, TOKEN));
  const other = await startOps(databases, { token: TOKEN, now: () => nowMs });
  const [name = ''] = cookieOf(await signIn(other, TOKEN)).split('=');
  expect(await status(kept, other)).toBe(401);
  expect(await status(`${name}=${kept.split('=')[1]}`, other)).toBe(401);
});

test('logs the address of a wrong token, without the token', async () => {
  const warn = vi.fn();
  const ops = await startOps(newDatabases(), { token: TOKEN, log: { warn } as never });
  expect((await signIn(ops, 'a guess')).status).toBe(401);
  expect((await signIn(ops, TOKEN)).status).toBe(303);
  expect(warn.mock.calls).toEqual([[{ address: '127.0.0.1' }, expect.not.stringContaining('guess')]]);
});

test('lets the read token read and change nothing', async () => {
  const readToken = `read-${TOKEN}`;
  const ops = await startOps(newDatabases(), { token: TOKEN, readToken });
  const headers = { authorization: `Bearer ${readToken}`, 'content-type': 'application/json' };
  for (const method of ['GET', 'HEAD']) {
    expect((await ops.ask('/api/stock', { method, headers })).status).toBe(200);
  }
  const order = await ops.ask('/api/resync', { body: '{}', headers });
  expect(order).toMatchObject({ status: 403, json: { error: 'access_denied' } });
  const form = await ops.ask('/page/resync', { body: '', headers });
  expect(form.status).toBe(403);
  expect((await signIn(ops, readToken)).status).toBe(401);
});

test('releases held removals only for the bearer token', async () => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  const order = (headers: Record<string, string>) =>
    ops.ask('/api/resync', {
      body: '{"allow_removals":{"by":"Ana","reason":"end of season"}}',
      headers: { 'content-type': 'application/json', ...headers },
    });
  const cookie = cookieOf(await signIn(ops, TOKEN));
  const refused = await order({ cookie, origin: ops.url });
  expect(refused).toMatchObject({ status: 403, json: { error: 'access_denied' } });
  expect((await order({ authorization: `Bearer ${TOKEN}` })).status).toBe(202);
});

test('refuses changes sent by other sites', async () => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  const evil = { origin: 'http://elsewhere.example' };
  expect((await signIn(ops, TOKEN, evil)).status).toBe(403);
  expect((await signIn(ops, TOKEN, { origin: 'null' })).status).toBe(403);
  expect((await signIn(ops, TOKEN, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  // Behind a proxy with another name, `sec-fetch-site` decides.
  const proxied = { origin: 'https://ops.example', 'sec-fetch-site': 'same-origin' };
  const cookie = cookieOf(await signIn(ops, TOKEN, proxied));
  const order = (headers: Record<string, string>) =>
    ops.ask('/api/resync', { body: '{}', headers: { cookie, ...headers } });
  expect((await order({ 'content-type': 'application/json', ...evil })).status).toBe(403);
  expect((await order({ ...FORM, origin: ops.url })).status).toBe(400);
  expect((await order({ 'content-type': 'application/json;x', origin: ops.url })).status).toBe(400);
  expect((await order({ 'content-type': 'application/json', origin: ops.url })).status).toBe(202);
});

test('says to a browser which headers disagree, and which lines of the proxy cure it', async () => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  const behindNginx = { host: '127.0.0.1:8788', origin: 'http://ops.lan' };
  const page = await signIn(ops, TOKEN, { ...behindNginx, accept: 'text/html' });
  expect([page.status, page.headers['content-type']]).toEqual([403, 'text/html; charset=UTF-8']);
  expect(page.text).toContain('the Origin header is http://ops.lan, and the Host header is 127.0.0.1:8788');
  expect(page.text).toContain(
    'proxy_set_header Host $http_host;\nproxy_set_header X-Forwarded-Proto $scheme;',
  );
  expect(await signIn(ops, TOKEN, behindNginx)).toMatchObject({
    status: 403,
    json: { error: 'access_denied', error_description: expect.stringContaining('$http_host') },
  });
  expect((await signIn(ops, TOKEN, { ...behindNginx, host: 'ops.lan' })).status).toBe(303);

  const open = await startOps(newDatabases());
  const foreign = await open.ask('/', { headers: { host: 'ops.lan', accept: 'text/html' } });
  expect([foreign.status, foreign.text]).toEqual([
    403,
    expect.stringContaining('the Host header is ops.lan'),
  ]);
});

test('takes JSON only, not other types whose names begin so', async () => {
  const ops = await startOps(newDatabases());
  for (const [type, status] of [
    ['application/json', 202],
    ['application/json; charset=utf-8', 202],
    ['application/json-seq', 400],
    ['application/jsonp', 400],
  ] as const) {
    const answer = await ops.ask('/api/resync', { body: '{}', headers: { 'content-type': type } });
    expect([type, answer.status]).toEqual([type, status]);
  }
});

test('answers only to loopback names if no token is set', async () => {
  const ops = await startOps(newDatabases());
  const status = async (host: string) => (await ops.ask('/api/status', { headers: { host } })).status;
  for (const host of [
    '127.0.0.1:8788',
    '127.0.0.1',
    '127.9.9.9:1',
    'localhost:9000',
    'LOCALHOST',
    '[::1]:9',
  ]) {
    expect(await status(host), host).toBe(200);
  }
  for (const host of [
    'rebound.example',
    'rebound.example:8788',
    '127.0.0.1.nip.example',
    'localhost.x',
    '10.0.0.1',
  ]) {
    expect(await status(host), host).toBe(403);
  }
  expect(await ops.ask('/login')).toMatchObject({ status: 303, headers: { location: '/' } });
  const guarded = await startOps(newDatabases(), { token: TOKEN });
  const headers = { authorization: `Bearer ${TOKEN}`, host: 'ops.example' };
  expect((await guarded.ask('/api/status', { headers })).status).toBe(200);
});

test('sends security headers', async () => {
  const ops = await startOps(newDatabases(), { token: TOKEN });
  for (const path of ['/login', '/', '/api/status', '/nowhere']) {
    const { headers } = await ops.ask(path);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
    });
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'"]),
    );
    expect(policy.join()).not.toContain('unsafe');
    expect(headers['strict-transport-security']).toBeUndefined();
  }
});
