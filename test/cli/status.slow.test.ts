/** `status`, from the server and from the database. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Inbox, inboxPath, openInbox } from '../../src/inbox/inbox.ts';
import { present } from '../shared/present.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import {
  databaseOf,
  eventually,
  freePort,
  homeOf,
  run,
  startServer,
  startService,
  untilQuiet,
  withEnv,
} from './harness.ts';

test('without a server and without a database it says what to do', async () => {
  const home = await homeOf(await startService());
  const { code, stdout, stderr } = await run(home, 'status', '--json');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe(
    `error: no mirror runs and ${databaseOf(home)} does not exist: start it with \`stock-mirror serve\`\n`,
  );
});

test('an empty file and another program’s are named as such', async () => {
  const home = await homeOf(await startService());
  writeFileSync(databaseOf(home), '');
  const empty = await run(home, 'status');
  expect(empty.code).toBe(1);
  expect(empty.stderr).toContain(`${databaseOf(home)} is empty: start the mirror`);
  writeFileSync(databaseOf(home), 'not a database at all, but long enough to be looked at as one'.repeat(20));
  const text = await run(home, 'status');
  expect(text.code).toBe(1);
  expect(text.stderr).toContain(databaseOf(home));
  expect(text.stderr).toContain('DATABASE_PATH');
});

test('with a server it shows the server’s state; exit code 0 only when live', async () => {
  const sandbox = await startService({ products: 20 });
  const home = await homeOf(sandbox);
  const hold = sandbox.reads.holdNext();
  const server = await startServer(home, sandbox);
  const early = await run(home, 'status', '--json');
  expect(early.code).toBe(1);
  expect(JSON.parse(early.stdout)).toMatchObject({ state: 'catching_up', serving: true, blocked: null });
  hold.release();

  await untilQuiet(home);
  const live = await run(home, 'status');
  expect(live.code).toBe(0);
  expect(live.stdout).toMatch(/^state +Live: All figures are current$/m);
  expect(live.stdout).toMatch(/^certain +100 %, (\d+) of \1 stock levels$/m);
  expect(live.stdout).toMatch(/^mirror +running$/m);
  expect(live.stdout).toMatch(/^mirrored +20 products, \d+ variants, \d+ stock levels$/m);
  expect(live.stdout).toMatch(/^last full sync +\d+ s ago$/m);
  expect(live.stdout).toMatch(/^last delivery +never$/m);
  const json = await run(home, 'status', '--json');
  expect(json.stdout).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(json.stdout)).toMatchObject({ state: 'live', serving: true, products: 20 });

  const lost = await run(withEnv(home, { OPS_PORT: '0' }), 'status');
  expect(lost.stdout).toMatch(/^mirror +no answer at 127\.0\.0\.1:0, but a process holds the database: /m);

  server.signal('SIGTERM');
  await server.ended;
  // At once, while the last heartbeat is still young.
  const after = await run(home, 'status');
  expect(after.code).toBe(1);
  expect(after.stdout).toMatch(/^state +Blocked: The mirror is not running$/m);
  expect(after.stdout).toMatch(/^what to do +start the mirror: /m);
  expect(after.stdout).toMatch(/^certain +not known$/m);
  expect(after.stdout).toMatch(/^mirror +not running$/m);
  expect(after.stdout).toMatch(/^mirrored +20 products/m);
  expect(after.stdout).not.toContain('not applied yet');

  // As a kill leaves it between the inbox and the mirror.
  const db = openInbox(inboxPath(databaseOf(home)));
  const atMs = Date.now();
  new Inbox(db).append([{ body: delivery('kept', item()), arrivedAtMs: atMs }]);
  db.close();
  expect((await run(home, 'status')).stdout).toMatch(
    /^inbox +1 deliveries not applied yet, the first \d+ s ago; the next start applies them$/m,
  );
  const kept = await run(home, 'status', '--json');
  expect(JSON.parse(kept.stdout)).toMatchObject({ deliveries_behind: 1, behind_since: atMs });
});

test('with a proxy in the environment, what is on this machine is asked directly', async () => {
  const sandbox = await startService({ products: 5 });
  const plain = await homeOf(sandbox, { PORT: String(await freePort()) });
  // Nothing listens there.
  const proxy = `http://127.0.0.1:${await freePort()}`;
  const home = withEnv(plain, { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy });
  await startServer(home, sandbox);
  await untilQuiet(home);
  expect(await run(home, 'status')).toMatchObject({ code: 0, stderr: '' });
  expect((await run(home, 'resync')).code).toBe(0);
  expect((await run(home, 'send')).code).toBe(0);
  const { code, stdout } = await run(home, 'doctor');
  expect(code, stdout).toBe(0);
  expect((await run(withEnv(home, { SERVICE_BASE_URL: 'http://store.invalid' }), 'doctor')).stdout).toContain(
    `the store is asked through ${proxy}\n`,
  );
});

test('it says why the server reads nothing, and what else is the matter', async () => {
  const sandbox = await startService();
  const home = await homeOf(sandbox, { SERVICE_CLIENT_SECRET: 'not-the-secret-of-this-app' });
  await startServer(home, sandbox);
  const { code, stderr } = await run(home, 'resync');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: .*invalid_client/);
  const forged = { method: 'POST', body: '{}', headers: { 'x-service-signature': 'a'.repeat(64) } };
  for (let n = 0; n < 3; n += 1) expect((await fetch(present(sandbox.webhookUrl), forged)).status).toBe(401);
  await eventually(
    async () => {
      const answer = await fetch(`http://127.0.0.1:${home.env['OPS_PORT']}/api/status`);
      const { alarms } = (await answer.json()) as { alarms: { kind: string }[] };
      return alarms.some(({ kind }) => kind === 'credentials') && alarms.length === 2;
    },
    { what: 'both alarms stand' },
  );
  const status = await run(home, 'status');
  expect(status.code).toBe(1);
  expect(status.stdout).toMatch(/^state +Blocked: The store at 127\.0\.0\.1:\d+ refuses the credentials$/m);
  expect(status.stdout).toMatch(/^not reading +\/oauth\/token failed: 401 invalid_client/m);
  expect(status.stdout).toMatch(/^alarm +bad_signatures, \d+ s ago: 3 webhooks .*SERVICE_WEBHOOK_SECRET /m);
  // Once is enough: it is the reason why nothing is read.
  expect(status.stdout.match(/invalid_client/g)).toHaveLength(1);
});
