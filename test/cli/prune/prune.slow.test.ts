/** `prune`: what is old goes and what is not stays, by the server where one runs. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openBoth } from '../../../scripts/shared/direct-writer.ts';
import { isDatabaseLocked } from '../../../src/sqlite/lock.ts';
import { openReaderOfBoth } from '../../../src/event-log/open-both.ts';
import { present } from '../../shared/present.ts';
import { DirectWriter, delivery, detail, item } from '../../mirror/mirror-file.ts';
import {
  databaseOf,
  eventually,
  homeOf,
  run,
  start,
  startServer,
  startService,
  untilQuiet,
  withEnv,
} from '../harness.ts';

const DAY_MS = 24 * 60 * 60_000;

function counts(path: string): Record<string, number> {
  const db = openReaderOfBoth(path);
  try {
    return present(
      db
        .prepare<[], Record<string, number>>(
          `SELECT (SELECT count(*) FROM log) AS log, (SELECT count(*) FROM changes) AS changes,
           (SELECT count(*) FROM mirror_stock) AS stock`,
        )
        .get(),
    );
  } finally {
    db.close();
  }
}

test('deletes what is older, and says how much; stock stays', async () => {
  const home = await homeOf(await startService({ products: 1 }));
  const path = databaseOf(home);
  const db = openBoth(path);
  const writer = new DirectWriter(db);
  const nowMs = Date.now();
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), nowMs - 50 * DAY_MS);
  for (let n = 0; n < 12; n += 1) {
    // Ten of them 40 days old, then one of 10 days and one of today.
    const atMs = nowMs - (n < 10 ? 40 : n === 10 ? 10 : 0) * DAY_MS + n * 1_000;
    writer.deliver(delivery(`d${n}`, item({ old: 5 - n, new: 4 - n, update_time: atMs })), atMs);
  }
  db.close();
  const before = counts(path);
  expect(before).toMatchObject({ log: 13, stock: 1 });

  const { code, stdout, stderr } = await run(home, 'prune');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(
    `deleted what is older than 30 days: 11 log entries, ${present(before['changes']) - 2} changes, 0 dead letters, 0 runs\n`,
  );
  // The two that are younger, and the entry that says what went.
  expect(counts(path)).toEqual({ log: 3, changes: 2, stock: 1 });

  const again = await run(home, 'prune', '--days', '5', '--json');
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout)).toEqual({
    ...{ days: 5, log: 1, changes: 1, quarantine: 0, runs: 0, complete: true },
  });
  expect(counts(path)).toEqual({ log: 3, changes: 1, stock: 1 });
});

test('with a server it is the server that prunes; nobody else writes to its database', async () => {
  const sandbox = await startService({ products: 3 });
  const home = await homeOf(sandbox, { OPS_TOKEN: 'the-right-token-for-this-server' });
  const none = await run(home, 'prune');
  expect(none).toMatchObject({ code: 1, stdout: '' });
  expect(none.stderr).toContain('does not exist: there is nothing to prune yet');

  const db = openBoth(databaseOf(home));
  const atMs = Date.now() - 20 * DAY_MS;
  new DirectWriter(db).deliver(delivery('old'), atMs);
  db.close();
  await startServer(home, sandbox);
  await untilQuiet(home);
  const before = counts(databaseOf(home));

  // A database in use whose server is not found is left alone.
  const refused = await run(withEnv(home, { OPS_PORT: '0' }), 'prune', '--days', '1');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(
    /^error: another stock-mirror uses \S+mirror\.db, and no mirror listens at 127\.0\.0\.1:0: if it is a running mirror, set OPS_HOST/,
  );
  expect(counts(databaseOf(home))).toEqual(before);

  const { code, stdout, stderr } = await run(home, 'prune', '--days', '7', '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    ...{ days: 7, log: 1, changes: 0, quarantine: 0, runs: 0, complete: true },
  });
  expect(counts(databaseOf(home))).toEqual({ ...before, log: present(before['log']) - 1 });
});

test('Ctrl-C ends it in order, also while another program holds the mirror’s lock', async () => {
  const home = await homeOf(await startService({ products: 1 }));
  const path = databaseOf(home);
  const db = openBoth(path);
  const atMs = Date.now() - 40 * DAY_MS;
  const writer = new DirectWriter(db);
  for (let n = 0; n < 3; n += 1)
    writer.deliver(delivery(`d${n}`, item({ old: 5 - n, new: 4 - n })), atMs + n);
  db.close();
  const before = counts(path);
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const command = start(home, 'prune', '--json');
  // It has the lock of both files: it waits for the mirror alone.
  await eventually(() => isDatabaseLocked(path), { what: 'it has begun' });
  command.signal('SIGINT');
  const { code, stdout } = await command.ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ complete: false });
  other.exec('ROLLBACK');
  expect(counts(path)['changes']).toBe(before['changes']);
  expect((await run(home, 'prune', '--json')).code).toBe(0);
  expect(counts(path)).toMatchObject({ log: 1 });
});
