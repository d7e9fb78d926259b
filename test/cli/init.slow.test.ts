/** `init`: a `.env` that nobody else can read, never in place of another unasked, and tried at once. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import {
  freePort,
  hasTerminal,
  run,
  startAtTerminal,
  startServer,
  startService,
  temporaryFolder,
  untilPrinted,
  type Home,
} from './harness.ts';

const bare = (): Home => ({ folder: temporaryFolder(), env: {} });
const dotenvOf = (home: Home): string => join(home.folder, '.env');

async function flagsFor(
  home: Home,
  sandbox: Sandbox,
  clientSecret = sandbox.clientSecret,
): Promise<string[]> {
  writeFileSync(join(home.folder, 'client.txt'), `${clientSecret}\n`);
  writeFileSync(join(home.folder, 'webhook.txt'), sandbox.webhookSecret);
  const files = ['--client-secret-file', 'client.txt', '--webhook-secret-file', 'webhook.txt'];
  const port = ['--port', String(await freePort())];
  return ['init', '--base-url', sandbox.baseUrl, '--client-id', sandbox.clientId, ...files, ...port];
}

test('by flags: .env for its owner only, credentials accepted, a signed webhook accepted', async () => {
  const sandbox = await startService({ products: 3 });
  const home = bare();
  const flags = await flagsFor(home, sandbox);
  const { code, stdout, stderr } = await run(home, ...flags, '--database', './my data.db');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(statSync(dotenvOf(home)).mode & 0o777).toBe(0o600);
  const config = loadConfig({ env: {}, cwd: home.folder });
  expect(config.service.clientSecret.reveal()).toBe(sandbox.clientSecret);
  expect(config.database.path).toBe(join(home.folder, 'my data.db'));
  expect(stdout).toMatch(/^ok +credentials +a new token was issued/m);
  expect(stdout).toMatch(/^ok +catalogue +\S+ lists 3 products/m);
  expect(stdout).toMatch(
    /^ok +webhook +accepted: a signed test webhook was answered 204 in .* by a listener started for it at /m,
  );
  for (const secret of [sandbox.clientSecret, sandbox.webhookSecret]) expect(stdout).not.toContain(secret);
  // The token is kept for the start; nothing of the listener is left.
  expect(readdirSync(home.folder).toSorted()).toEqual([
    '.env',
    'client.txt',
    'my data.db.token',
    'webhook.txt',
  ]);

  // With the running mirror it asks that one.
  const server = await startServer(home, sandbox);
  const again = await run(home, ...flags, '--database', './my data.db', '--force');
  expect(again.stdout).toMatch(/^ok +webhook +accepted: .* by the running mirror at /m);
  server.signal('SIGTERM');
  await server.ended;
});

test('an existing .env stays as it is, unless it is to be replaced; then it is kept', async () => {
  const sandbox = await startService({ products: 1 });
  const home = bare();
  writeFileSync(dotenvOf(home), 'MINE=1\n');
  const flags = [...(await flagsFor(home, sandbox)), '--no-check'];
  const refused = await run(home, ...flags);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('.env exists: nothing was written; --force replaces it');
  expect(readFileSync(dotenvOf(home), 'utf8')).toBe('MINE=1\n');
  expect((await run(home, ...flags, '--force')).code).toBe(0);
  const [kept = ''] = readdirSync(home.folder).filter((name) => name.startsWith('.env.before-'));
  expect(readFileSync(join(home.folder, kept), 'utf8')).toBe('MINE=1\n');
  expect(readFileSync(dotenvOf(home), 'utf8')).toContain('SERVICE_CLIENT_ID=');
});

test('what is missing or wrong is said, and nothing is written', async () => {
  const home = bare();
  const missing = await run(home, 'init', '--base-url', 'https://store.example');
  expect(missing).toMatchObject({ code: 2, stdout: '' });
  expect(missing.stderr).toContain('error: --client-id is missing, and there is no terminal to ask at.');
  const wrong = await run(home, 'init', '--base-url', 'store.example');
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('SERVICE_BASE_URL does not begin with http:// or https://');
  expect(readdirSync(home.folder)).toEqual([]);
});

test('refused credentials, and a store that is not there, are told apart', async () => {
  const sandbox = await startService({ products: 1 });
  const home = bare();
  const refused = await run(home, ...(await flagsFor(home, sandbox, 'another')));
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/^fail +credentials /m);
  const away = [
    ...(await flagsFor(home, sandbox)),
    '--force',
    '--base-url',
    `http://127.0.0.1:${await freePort()}`,
  ];
  const { code, stdout } = await run(home, ...away);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^warn +store +\S+ cannot be reached from here now .*the credentials were not tried/m,
  );
  expect(stdout).toMatch(/^ok +webhook +accepted/m);
});

test.runIf(hasTerminal)('at a terminal it asks, shows no secret, and asks again', async () => {
  const sandbox = await startService({ products: 1 });
  const home = bare();
  const asking = startAtTerminal(home, 'init', '--port', String(await freePort()));
  const answer = async (question: RegExp, typed: string): Promise<void> => {
    await untilPrinted(asking, question);
    asking.type(`${typed}\r`);
  };
  await answer(/Base address of the store's API: /, 'store.example');
  await answer(/does not begin with http[^]*Base address of the store's API: /, sandbox.baseUrl);
  await answer(/Client id: /, sandbox.clientId);
  await answer(/Client secret \(not shown\): /, 'typed-secret-1');
  await answer(/Secret of the webhook signature \(not shown\): /, 'typed-secret-2');
  await answer(/Database file \[\.\/data\/stock-mirror\.db\]: /, '');
  const { code, stdout } = await asking.ended;
  expect(code).toBe(1);
  expect(stripVTControlCharacters(stdout)).toMatch(/fail +credentials/);
  expect(stdout).not.toContain('typed-secret');
  expect(readFileSync(dotenvOf(home), 'utf8')).toContain('SERVICE_WEBHOOK_SECRET=typed-secret-2\n');
});
