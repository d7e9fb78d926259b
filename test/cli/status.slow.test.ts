import { mkdirSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { lockDatabase } from '../../src/sqlite/lock.ts';
import { holdNext } from '../sandbox/harness.ts';
import { appendTo } from '../mirror/direct-writer.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import { databaseOf, homeOf, run, startServer, startService, untilQuiet, withEnv } from './harness.ts';

test('names the remedy without a server and a database', async () => {
  const home = await homeOf(await startService());
  const { code, stdout, stderr } = await run(home, 'status', '--json');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe(
    `error: no mirror runs, and ${databaseOf(home)} does not exist: run \`stock-mirror serve\`, or correct DATABASE_PATH\n`,
  );
});

test('shows the server’s state and exits 0 only if live', async () => {
  const sandbox = await startService({ products: 20 });
  const home = await homeOf(sandbox, { OPS_TOKEN: 'token-of-16-chars' });
  const hold = holdNext(sandbox);
  const server = await startServer(home, sandbox);
  const early = async (): Promise<unknown> => {
    const { code, stdout } = await run(home, 'status', '--json');
    return { code, ...(JSON.parse(stdout) as object) };
  };
  await expect
    .poll(early)
    .toMatchObject({ code: 1, state: 'catching_up', state_cause: 'first_read', serving: true });
  hold.release();

  await untilQuiet(home);
  const live = await run(home, 'status');
  expect(live.code).toBe(0);
  expect(live.stdout).toMatch(/^can be sold now +\d+ of \d+ quantities\nstate +live$/m);
  expect(live.stdout).toMatch(/^mirrored +20 products, \d+ variants, \d+ stock levels$/m);
  expect(live.stdout).toMatch(/^last full read +\S+ s ago: 20 products, \d+ values compared in .* s, /m);
  expect(live.stdout).toMatch(/^last delivery +\d+ s ago$/m);
  const json = await run(home, 'status', '--json');
  expect(json.stdout).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(json.stdout)).toMatchObject({ state: 'live', serving: true, products: 20 });

  const lost = await run(withEnv(home, { OPS_PORT: '0' }), 'status');
  expect(lost.stdout).toMatch(
    /^mirror +a process holds the database but does not answer at 127\.0\.0\.1:0: /m,
  );
  const refused = await run(withEnv(home, { OPS_TOKEN: '' }), 'status');
  expect(refused.stdout).toMatch(/^mirror +the mirror at \S+ requires its OPS_TOKEN, or OPS_READ_TOKEN /m);

  const other = await run(withEnv(home, { DATABASE_PATH: 'other.db' }), 'status');
  expect(other.stderr).toMatch(/has the file .*mirror\.db, not .*other\.db: correct DATABASE_PATH/);

  server.signal('SIGTERM');
  await server.ended;
  const after = await run(home, 'status');
  expect(after.code).toBe(1);
  expect(after.stdout).toMatch(/^state +stale$/m);
  expect(after.stdout).toMatch(/^critical +stopped .*: The mirror is not running/m);
  expect(after.stdout).toMatch(/^what to do .*`npm run stock-mirror -- serve`/m);
  expect(after.stdout).toMatch(/^mirrored +20 products/m);
  expect(after.stdout).not.toContain('not applied yet');

  // Hidden from `status`, as while a mirror opens its files.
  const lock = lockDatabase(databaseOf(home));
  expect((await run(home, 'status')).stdout).toMatch(
    /^can be sold now .*\nstate +stale\ncritical +stopped (.*\n)*mirror +a process holds the database but does not answer at /,
  );
  lock.release();

  const atMs = Date.now();
  appendTo(databaseOf(home), delivery('kept', item()), atMs);
  expect((await run(home, 'status')).stdout).toMatch(
    /^inbox +1 deliveries not applied yet, the oldest from \d+ s ago$/m,
  );
  const kept = await run(home, 'status', '--json');
  expect(JSON.parse(kept.stdout)).toMatchObject({ deliveries_behind: 1, behind_since: atMs });

  // Like the inbox of another user, a folder cannot be opened.
  const inbox = inboxPath(databaseOf(home));
  rmSync(inbox);
  mkdirSync(inbox);
  const without = await run(home, 'status', '--json');
  expect(JSON.parse(without.stdout)).toMatchObject({ products: 20, deliveries_behind: null });
});

test('shows the state of a host that only receives', async () => {
  const sandbox = await startService();
  const mirror = await homeOf(sandbox);
  const receiver = withEnv(mirror, { ROLE: 'receiver' });
  expect((await run(receiver, 'status')).stderr).toMatch(
    /^error: no receiver runs, and .*inbox\.db does not/,
  );

  const server = await startServer(receiver, sandbox);
  const live = await run(receiver, 'status', '--wait', '--timeout', '60');
  expect(live.code).toBe(0);
  expect(live.stdout).toMatch(/^state +live\nrole +this process only receives .*\ninbox +\S+inbox\.db\n$/);
  expect(JSON.parse((await run(receiver, 'status', '--json')).stdout)).toEqual({
    state: 'live',
    causes: [],
    serving: true,
  });
  const lost = await run(withEnv(receiver, { OPS_PORT: '0' }), 'status');
  expect(lost.code).toBe(0);
  expect(lost.stdout).toMatch(/^state +live\nreceiver +a process holds the inbox but does not answer at /);
  expect((await run(mirror, 'status')).stderr).toMatch(/^error: no mirror runs, .* set ROLE=receiver /);

  server.signal('SIGTERM');
  await server.ended;
  const after = await run(receiver, 'status');
  expect(after.code).toBe(1);
  expect(after.stdout).toMatch(/^state +stale\ncritical +no_receiver .*\nwhat to do +Start the receiver /);
});
