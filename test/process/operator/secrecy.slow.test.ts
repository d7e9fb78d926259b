/** No output contains a secret or a token (SECURITY.md#defences). */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { opsApp } from '../../ops/harness.ts';
import { newDatabases } from '../../reconcile/mirror.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import { signBody } from '../../../src/store-api/signature.ts';
import { present } from '../../shared/present.ts';
import {
  eventually,
  plainVariants,
  rows,
  startBoth,
  startMirror,
  temporaryFolder,
  untilLogged,
  type RunningMirror,
} from '../harness.ts';

/** A secret that differs in every encoding. */
const odd = (name: string): string => `${name}+"quoted"/of=odd&signs%2B`;
const OPS_TOKEN = 'ops-token-0123456789-abcdef';

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    new URLSearchParams([['', secret]]).toString().slice(1),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}

const MORE = ['/deliveries?show=dead-letters', '/api/changes?limit=x', '/api/runs/none', '/nowhere'];

function addresses(ids: Readonly<Record<string, string>>): string[] {
  const { routes } = opsApp(newDatabases());
  const paths = routes
    .filter(({ method, path }) => method === 'GET' && !path.includes('*'))
    .map(({ path }) => path.replace(/(?<=^\/(?:api\/)?(\w+)\/):id/, (_, of: string) => ids[of] ?? '1'));
  return [...new Set([...paths, ...MORE])];
}

/** Only the beginning of a stream. */
async function textOf(answer: Response): Promise<string> {
  if (answer.headers.get('content-type')?.startsWith('text/event-stream') !== true) return answer.text();
  const reader = present(answer.body).getReader();
  const { value } = (await reader.read()) as { value?: Uint8Array };
  await reader.cancel();
  return new TextDecoder().decode(value);
}

async function shownBy(mirror: RunningMirror, variantId: string): Promise<Map<string, string>> {
  const shown = new Map<string, string>();
  const ask = async (path: string, authorization: string, init: RequestInit = {}): Promise<void> => {
    const headers = { authorization, 'content-type': 'application/json', accept: '*/*' };
    const answer = await fetch(mirror.opsUrl + path, { headers, redirect: 'manual', ...init });
    const about = JSON.stringify([...answer.headers]);
    shown.set(`${init.method ?? 'GET'} ${path} ${answer.status}`, about + (await textOf(answer)));
  };
  for (const authorization of [`Bearer ${OPS_TOKEN}`, 'Bearer wrong-token-0123456789']) {
    for (const path of addresses({ runs: '1', variants: variantId })) await ask(path, authorization);
    for (const body of ['{', '{"product_ids":["x"]}']) {
      await ask('/api/resync', authorization, { method: 'POST', body });
    }
  }
  const form = (token: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token }),
  });
  await ask('/login', '', form(`${OPS_TOKEN}x`));
  await ask('/login', '', form(OPS_TOKEN));
  return shown;
}

test('shows no secret in logs, answers, pages and files except the token file', async (t) => {
  const clientSecret = odd('client');
  const webhookSecret = odd('webhook');
  const previous = odd('previous');
  const folder = temporaryFolder(t);
  const env = { OPS_TOKEN, SERVICE_WEBHOOK_SECRET_PREVIOUS: previous, LOG_LEVEL: 'trace' };
  const service = { clientSecret, webhookSecret };
  const { sandbox, mirror: first } = await startBoth(t, service, { folder, env });
  const inbox = inboxPath(first.databasePath);
  expect(statSync(inbox).mode & 0o777).toBe(0o600);
  const tokenFile = readFileSync(`${first.databasePath}.token`, 'utf8');
  const token = present(/"accessToken":"([^"]+)"/.exec(tokenFile)?.[1]);
  const secrets: Record<string, string> = { clientSecret, webhookSecret, previous, OPS_TOKEN, token };

  const [level, refused] = plainVariants(sandbox, 2);
  sandbox.operations.add({ ...level, by: 1 });
  sandbox.network.loseNext(1);
  sandbox.operations.add({ ...level, by: 1 });
  sandbox.operations.add({ ...level, by: 1 });
  const post = (body: string | Uint8Array, signature: string) =>
    fetch(first.webhookUrl, {
      method: 'POST',
      headers: { 'x-service-signature': signature },
      body: Buffer.from(body),
    });
  const unknown = delivery('unknown', item({ id: '404' }));
  expect((await post(unknown, signBody(previous, unknown))).status).toBe(204);
  expect((await post('{', signBody(webhookSecret, Buffer.from('{')))).status).toBe(204);
  expect((await post('{}', webhookSecret.replaceAll('"', ''))).status).toBe(401);
  await fetch(`${first.webhookUrl}?key=${encodeURIComponent(webhookSecret)}`).then((answer) => answer.text());

  const said = ['clientSecret', 'token']
    .flatMap((name) => formsOf(present(secrets[name])))
    .filter((form) => !/^[0-9a-f]+$/.test(form) && !form.includes('&quot;'));
  let at = 0;
  sandbox.reads.intercept = (endpoint, _body, respond) => {
    if (endpoint !== '/v1/product/detail') return Promise.resolve(respond());
    at += 1;
    const error_description = `sent: ${present(said[at % said.length])}`;
    return Promise.resolve({
      status: at % 2 === 0 ? 400 : 500,
      body: { error: present(said[(at + 1) % said.length]), error_description },
    });
  };
  const headers = { authorization: `Bearer ${OPS_TOKEN}`, 'content-type': 'application/json' };
  await fetch(`${first.opsUrl}/api/resync`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ product_ids: [level.productId, refused.productId] }),
  });
  await eventually(
    () =>
      rows(first.databasePath, 'SELECT 1 FROM due_reads WHERE failed_at_ms IS NOT NULL').length > 0 &&
      at >= 4,
    {
      what: 'refused reads',
    },
  );
  const locked = delivery('locked', item({ id: level.variantId }));
  const lock = new Database(inbox, { timeout: 5_000 });
  lock.exec('BEGIN IMMEDIATE');
  const refusedFor503 = await post(locked, signBody(webhookSecret, locked));
  expect(refusedFor503.status).toBe(503);
  const saidOf = (msg: string) => untilLogged(first, (line) => String(line['msg']).startsWith(msg), msg);
  await saidOf('deliveries could not be committed');
  lock.exec('ROLLBACK');
  lock.close();
  await saidOf('commits succeed again');

  const shown = await shownBy(first, level.variantId);
  for (const path of ['/', '/api/status', '/api/changes/stream', '/metrics', '/openapi.json', '/stock']) {
    expect(shown.get(`GET ${path} 200`)?.length, path).toBeGreaterThan(500);
    expect([...shown.keys()]).toContainEqual(expect.stringMatching(`^GET ${path} (401|303)$`));
  }
  sandbox.reads.intercept = null;
  await first.stop();

  const wrong = odd('wrong');
  const second = await startMirror(t, sandbox, { folder, env: { ...env, SERVICE_CLIENT_SECRET: wrong } });
  secrets['wrong'] = wrong;
  await untilLogged(second, ({ cause }) => cause === 'credentials', 'that the credentials are refused');
  for (const [path, text] of await shownBy(second, level.variantId)) shown.set(`${path}, refused`, text);
  await second.stop();

  const written = new Map<string, string>(shown);
  for (const [name, mirror] of Object.entries({ first, second })) {
    written.set(`the ${name} log`, mirror.log.map((line) => JSON.stringify(line)).join('\n'));
    written.set(
      `the ${name} log's texts`,
      mirror.log.map((line) => Object.values(line).join(' ')).join('\n'),
    );
    written.set(`the ${name} stderr`, mirror.stderr);
  }
  for (const file of readdirSync(dirname(first.databasePath))) {
    if (!file.endsWith('.token')) written.set(file, readFileSync(join(folder, file), 'latin1'));
  }
  expect(written.size).toBeGreaterThan(15);
  const found: string[] = [];
  for (const [where, text] of written) {
    for (const [name, secret] of Object.entries(secrets)) {
      for (const form of formsOf(secret))
        if (text.includes(form)) found.push(`${name} in ${where}, as ${form}`);
    }
  }
  expect(found).toEqual([]);
  const messages = first.log.map(({ msg }) => String(msg)).join('\n');
  expect(messages).toMatch(/a delivery from the store was lost|gap_opened/);
  expect(messages).toContain('an authentic delivery was not understood');
  expect(messages).toContain('webhook requests were refused');
});
