import { chmodSync, closeSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Check } from '../../../src/cli/doctor/check.ts';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import { openReader } from '../../../src/sqlite/open.ts';
import { freePort } from '../../shared/free-port.ts';
import { present } from '../../shared/present.ts';
import { appendTo } from '../../mirror/direct-writer.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';
import {
  databaseOf,
  fillMirror,
  homeOf,
  run,
  startServer,
  startService,
  untilQuiet,
  withEnv,
  type Ended,
  type Home,
} from '../harness.ts';

interface Report {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly variables: readonly { name: string; source: string; value: string | null }[];
}

async function examine(home: Home, ...args: string[]): Promise<Report & { readonly ended: Ended }> {
  const ended = await run(home, 'doctor', '--json', ...args);
  expect(ended.stderr).toBe('');
  return { ...(JSON.parse(ended.stdout) as Report), ended };
}

const named = ({ checks }: Report, name: string): Check | undefined =>
  checks.find((check) => check.name === name);

const failedIn = ({ checks }: Report): string[] =>
  checks.filter(({ status }) => status === 'fail').map(({ name }) => name);

test('reports a live server in order, without secrets or token requests', async () => {
  const sandbox = await startService({ products: 5 });
  const home = await homeOf(sandbox, { PORT: String(await freePort()), OPS_TOKEN: 'token-of-the-operator' });
  await startServer(home, sandbox);
  await untilQuiet(home);
  const tokens = sandbox.requests['/oauth/token'];
  const { code, stdout, stderr } = await run(home, 'doctor', '--full');
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  for (const name of ['configuration', 'database', 'inbox', 'disk', 'permissions']) {
    expect(stdout).toMatch(new RegExp(`^ok {4}${name} `, 'm'));
  }
  expect(stdout).toMatch(/^ok {4}inbox +\S+mirror\.inbox\.db, [\d.]+ MB, integrity_check found no fault$/m);
  expect(stdout).toMatch(/^ok {4}mirror +\S+: live$/m);
  expect(stdout).toMatch(/^ok {4}webhook listener +\S+ accepts deliveries$/m);
  expect(stdout).toMatch(/^ok {4}store +\S+ accepts the credentials and lists 5 products$/m);
  expect(stdout).toMatch(/^ +SERVICE_BASE_URL = http:/m);
  expect(stdout).toMatch(/^ +SERVICE_CLIENT_SECRET = \[secret\]$/m);
  expect(stdout).not.toContain('RETENTION_DAYS');
  const everything = (await run(home, 'doctor', '--settings')).stdout;
  expect(everything).toMatch(/^ +RETENTION_DAYS = 30 \(default\)$/m);
  expect(everything).toMatch(/^ +SERVICE_WEBHOOK_SECRET_PREVIOUS = not set$/m);
  for (const secret of [sandbox.clientSecret, sandbox.webhookSecret, 'token-of-the-operator']) {
    expect(stdout).not.toContain(secret);
  }
  expect(sandbox.requests['/oauth/token']).toBe(tokens);

  const url = `http://127.0.0.1:${home.env['PORT']}/webhooks/`;
  await fetch(url, { method: 'POST', headers: { 'x-service-signature': 'a'.repeat(64) } });
  // The receiver reports it with its next heartbeat.
  await expect
    .poll(async () => (await run(home, 'doctor')).stdout)
    .toMatch(
      /^warn {2}mirror +requests_refused: .* 1 request to another address \(the last one: POST \/webhooks\/\).* Correct the webhook URL/m,
    );
});

test('knows a receiver that runs without a mirror', async () => {
  const sandbox = await startService({ products: 1 });
  const both = await homeOf(sandbox, { PORT: String(await freePort()) });
  const home = withEnv(both, { ROLE: 'receiver' });
  const stopped = await examine(home);
  expect(named(stopped, 'receiver')).toMatchObject({ status: 'warn' });
  expect(named(stopped, 'receiver')?.remedy).toContain('ROLE=receiver');
  await startServer(home, sandbox);
  expect(named(await examine(home), 'receiver')).toMatchObject({ status: 'ok' });
});

test('warns of a socket that was passed to another process, as the server does at its start', async () => {
  const sandbox = await startService({ products: 1 });
  const home = await homeOf(sandbox, {
    PORT: String(await freePort()),
    LISTEN_PID: '1',
    LISTEN_FDS: '1',
    LISTEN_FDNAMES: 'webhooks',
  });
  const server = await startServer(home, sandbox);
  const words = 'LISTEN_PID is "1", the id of another process';
  expect(server.stdout).toContain(JSON.stringify(`configuration: ${words}`).slice(1, -1));
  const { checks } = await examine(home);
  expect(checks).toContainEqual(
    expect.objectContaining({
      name: 'configuration',
      status: 'warn',
      message: expect.stringContaining(words) as string,
    }),
  );
});

test('shows the zone and the next times of the schedules, as the server does at its start', async () => {
  const sandbox = await startService({ products: 1 });
  const home = await homeOf(sandbox, { TZ: 'Asia/Bangkok', RESYNC_CRON: '0 3 * * *', RECONCILE_CRON: 'off' });
  const server = await startServer(home, sandbox);
  expect(server.stdout).toMatch(
    /"timeZone":"Asia\/Bangkok","resync":"[\d-]{10} 03:00 GMT\+07:00","reconcile":null/,
  );
  expect(named(await examine(home), 'schedules')).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(
      /^time zone Asia\/Bangkok; next RESYNC_CRON: [\d-]{10} 03:00 GMT\+07:00, next RECONCILE_CRON: off$/,
    ),
  });
});

/** Fails as it would with a C library that is too old for SQLite. */
const OLD_LIBRARY = `process.dlopen = () => {
  const message = "/lib/x86_64-linux-gnu/libc.so.6: version \`GLIBC_2.34' not found (required by /x.node)";
  throw Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });
};`;

test('names the C library that SQLite needs on a system that is too old', async () => {
  const home = withEnv(await homeOf(await startService({ products: 1 })), {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(OLD_LIBRARY)}`,
  });
  const report = await examine(home);
  const words = 'SQLite cannot be loaded: it needs glibc 2.34 or newer';
  expect(named(report, 'system')).toMatchObject({ status: 'fail', message: expect.stringContaining(words) });
  const served = await run(home, 'serve');
  expect(served).toMatchObject({ code: 1, stderr: expect.stringContaining(`error: ${words}`) });
});

test('exits 2 for a wrong configuration, with a check per problem', async () => {
  const home = await homeOf(await startService({ products: 1 }));
  const report = await examine(withEnv(home, { SERVICE_BASE_URL: '', RETENTION_DAYS: 'x' }));
  expect(report).toMatchObject({ ok: false, ended: { code: 2 } });
  const problems = report.checks.filter(({ status }) => status === 'fail');
  expect(problems.map(({ message }) => message.split(' ')[0])).toEqual([
    'SERVICE_BASE_URL',
    'RETENTION_DAYS',
  ]);
  for (const { remedy } of problems) expect(remedy).not.toBeNull();
});

test('tries a refused secret once', async () => {
  const sandbox = await startService({ products: 1 });
  const home = await homeOf(sandbox, { SERVICE_CLIENT_SECRET: 'not-the-secret-of-this-app' });
  const first = await examine(home);
  expect(first).toMatchObject({ ok: false, ended: { code: 1 } });
  expect(named(first, 'store')).toMatchObject({ status: 'fail' });
  const second = await examine(home);
  expect(named(second, 'store')?.remedy).toContain('`npm run stock-mirror -- resync` tries once more');
  expect(sandbox.requests['/oauth/token']).toBe(1);
});

test('fails for an unreachable store', async () => {
  const home = await homeOf(await startService({ products: 1 }));
  const report = await examine(withEnv(home, { SERVICE_BASE_URL: `http://127.0.0.1:${await freePort()}` }));
  expect(report.ended.code).toBe(1);
  expect(failedIn(report)).toEqual(['store']);
});

describe('the database', () => {
  async function stopped(): Promise<Home> {
    const sandbox = await startService({ products: 3 });
    const home = await homeOf(sandbox, { PORT: String(await freePort()) });
    await fillMirror(home, sandbox);
    return home;
  }

  test('fails for a damaged page', async () => {
    const home = await stopped();
    const path = databaseOf(home);
    const db = openReader(path);
    const page = present(
      db.prepare<[], number>("SELECT rootpage FROM sqlite_master WHERE name = 'changes'").pluck().get(),
    );
    db.close();
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(4_096, 0x5a), 0, 4_096, (page - 1) * 4_096);
    closeSync(file);
    const report = await examine(home);
    expect(report.ended.code).toBe(1);
    expect(named(report, 'database')).toMatchObject({ status: 'fail' });
    expect(named(report, 'database')?.remedy).toContain('it moves the file aside and reads everything again');
  });

  test('fails for a foreign file and warns of open permissions', async () => {
    const home = await stopped();
    const path = databaseOf(home);
    chmodSync(path, 0o666);
    chmodSync(`${path}.token`, 0o644);
    chmodSync(inboxPath(path), 0o644);
    const report = await examine(home);
    expect(failedIn(report)).toEqual(['mirror']);
    const warned = report.checks.filter(({ status }) => status === 'warn').map(({ message }) => message);
    expect(warned).toContainEqual(`every user may write to ${path}`);
    expect(warned).toContainEqual(`other users may read ${path}.token`);
    expect(warned).toContainEqual(`other users may read ${inboxPath(path)}`);

    writeFileSync(
      join(home.folder, 'text.db'),
      'not a database at all, but long enough to be one'.repeat(30),
    );
    const foreign = await examine(withEnv(home, { DATABASE_PATH: './text.db' }));
    expect(foreign.ended.code).toBe(1);
    expect(named(foreign, 'database')?.message).toContain('is not a SQLite database');
  });

  test('fails for a damaged inbox and warns of a missing one', async () => {
    const home = await stopped();
    const file = inboxPath(databaseOf(home));
    const body = delivery('waiting', item({ note: 'x'.repeat(20_000) }));
    appendTo(databaseOf(home), body, Date.now() - 60_000);
    const handle = openSync(file, 'r+');
    writeSync(handle, Buffer.alloc(4_096, 0x5a), 0, 4_096, statSync(file).size - 4_096);
    closeSync(handle);
    const damaged = await examine(home);
    expect(damaged.ended.code).toBe(1);
    expect(named(damaged, 'inbox')).toMatchObject({
      status: 'fail',
      remedy: expect.stringContaining('move the file away'),
    });

    rmSync(file);
    const gone = await examine(home);
    expect(failedIn(gone)).toEqual(['mirror']);
    expect(named(gone, 'inbox')).toMatchObject({
      status: 'warn',
      message: `${file} does not exist`,
      remedy: expect.stringContaining('begins a new epoch'),
    });
  });
});
