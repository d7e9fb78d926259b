/** `rebuild`: the mirror made of its event log alone, compared and put in place. */
import { asOwnWrite } from '../../src/mirror/file/own-write.ts';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { EventLog } from '../../src/event-log/event-log.ts';
import { eventLogPath, openLogForAppending } from '../../src/event-log/open-log.ts';
import { digestsOf } from '../../src/mirror/file/projected.ts';
import { openReader } from '../../src/sqlite/open.ts';
import { delivery, item } from '../mirror/mirror-file.ts';
import {
  databaseOf,
  differencesOf,
  eventually,
  homeOf,
  run,
  start,
  startServer,
  startService,
  temporaryFolder,
  untilQuiet,
  withEnv,
  type Home,
} from './harness.ts';

/** A mirror that was served under traffic, and stopped. */
async function served(): Promise<{
  home: Home;
  path: string;
  sandbox: Awaited<ReturnType<typeof startService>>;
}> {
  const sandbox = await startService({ products: 12 });
  const home = await homeOf(sandbox);
  const server = await startServer(home, sandbox);
  await untilQuiet(home);
  sandbox.traffic.start(40);
  await eventually(() => sandbox.deliveries.counts.answered > 40, { what: 'traffic' });
  expect(await run(home, 'rebuild', '--check')).toMatchObject({
    ...{ code: 0, stdout: 'every table is what the event log says\n' },
  });
  sandbox.traffic.stop();
  const { code, stderr } = await run(home, 'rebuild');
  expect(code).toBe(1);
  expect(stderr).toContain('another stock-mirror already serves');
  await untilQuiet(home);
  server.signal('SIGTERM');
  await server.ended;
  return { home, path: databaseOf(home), sandbox };
}

const copies = temporaryFolder();

/** The same for those who need no store any more: it was served once, and each has its own files. */
async function onceServed(): Promise<{ home: Home; path: string }> {
  if (readdirSync(copies).length === 0) {
    const { home } = await served();
    cpSync(home.folder, copies, { recursive: true });
    return { home, path: databaseOf(home) };
  }
  const home = await homeOf(await startService({ products: 0 }));
  cpSync(copies, home.folder, { recursive: true });
  return { home, path: databaseOf(home) };
}

function digests(path: string): unknown {
  const db = openReader(path);
  try {
    return [...digestsOf(db)];
  } finally {
    db.close();
  }
}

function epochOf(path: string): unknown {
  const db = openReader(path);
  try {
    return db.prepare('SELECT epoch FROM mirror_status').pluck().get();
  } finally {
    db.close();
  }
}

function warehousesOf(path: string): { readonly id: string; readonly name: string | null }[] {
  const db = openReader(path);
  try {
    return db
      .prepare<[], { id: string; name: string | null }>(
        'SELECT DISTINCT warehouse_id AS id, warehouse_name AS name FROM mirror_stock ORDER BY id',
      )
      .all();
  } finally {
    db.close();
  }
}

function tamper(path: string, sql: string): void {
  const db = new Database(path);
  asOwnWrite(db, () => db.exec(sql));
  db.close();
}

function tamperWithLog(path: string, sql: string): void {
  const db = new Database(eventLogPath(path));
  db.exec(sql);
  db.close();
}

const draftsIn = ({ folder }: Home): string[] =>
  readdirSync(folder).filter((name) => name.startsWith('.mirror'));

test('compared beside a running mirror; made anew, it is the same, and is served without a new epoch', async () => {
  const { home, path, sandbox } = await served();
  const before = { digests: digests(path), epoch: epochOf(path), mode: statSync(path).mode };
  const [warehouse = ''] = warehousesOf(path).map(({ id }) => id);
  const named = withEnv(home, { WAREHOUSE_NAMES: `${warehouse}=กรุงเทพ` });
  const { code, stdout, stderr } = await run(named, 'rebuild');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(warehousesOf(path).filter(({ name }) => name !== null)).toEqual([{ id: warehouse, name: 'กรุงเทพ' }]);
  expect(stdout).toMatch(
    /^every table is what the event log says\n\S+mirror\.db was made anew from \d+ entries\n$/,
  );
  expect({ digests: digests(path), epoch: epochOf(path), mode: statSync(path).mode }).toEqual(before);
  expect(draftsIn(home)).toEqual([]);

  const again = await startServer(home, sandbox);
  await untilQuiet(home);
  expect(again.stdout).not.toContain('a new epoch has begun');
  expect(epochOf(path)).toBe(before.epoch);
  expect(differencesOf(home, sandbox)).toEqual([]);
});

test('tables that differ are named, and made right; readers who were told otherwise start over', async () => {
  const { home, path, sandbox } = await served();
  const right = digests(path);
  const epoch = epochOf(path);
  tamper(path, 'DELETE FROM gaps; DELETE FROM read_requests; DELETE FROM dead_letters');
  tamper(path, 'INSERT INTO gaps SELECT variant_id, warehouse_id, 1, 1, 1, 1, 2 FROM stock_levels LIMIT 1');
  const unseen = await run(home, 'rebuild', '--check', '--json');
  expect(unseen.code).toBe(1);
  expect(JSON.parse(unseen.stdout)).toMatchObject({ differing: ['gaps'], new_epoch: false });
  expect(await run(home, 'rebuild')).toMatchObject({ code: 0 });
  expect(digests(path)).toEqual(right);
  expect(epochOf(path)).toBe(epoch);

  tamper(path, 'UPDATE stock_levels SET qty = qty + 7');
  const checked = await run(home, 'rebuild', '--check');
  expect(checked).toMatchObject({ code: 1, stdout: 'not what the event log says: stock_levels\n' });
  const { code, stdout } = await run(home, 'rebuild');
  expect(code).toBe(0);
  expect(stdout).toContain('not what the event log says: stock_levels');
  expect(stdout).toContain('the next start begins a new epoch: readers of the change feed start over');
  expect(digests(path)).toEqual(right);

  await startServer(home, sandbox);
  await untilQuiet(home);
  expect(epochOf(path)).not.toBe(epoch);
  expect(differencesOf(home, sandbox)).toEqual([]);
});

test('a damaged mirror, one that is gone, and one that is behind are made anew', async () => {
  const { home, path } = await onceServed();
  const right = digests(path);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.subarray(0, bytes.length / 2));
  const check = await run(home, 'rebuild', '--check');
  expect(check.code).toBe(1);
  expect(check.stderr).toContain('damaged');
  expect(readFileSync(path)).toHaveLength(bytes.length / 2);
  const damaged = await run(home, 'rebuild');
  expect(damaged.code).toBe(0);
  expect(damaged.stdout).toContain('not compared: ');
  expect(digests(path)).toEqual(right);

  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  expect((await run(home, 'rebuild', '--check')).code).toBe(1);
  expect(existsSync(path)).toBe(false);
  const gone = await run(home, 'rebuild');
  expect(gone).toMatchObject({ code: 0, stderr: '' });
  expect(gone.stdout).toContain('does not exist: nothing was compared');
  expect(digests(path)).toEqual(right);

  const db = openLogForAppending(eventLogPath(path));
  new EventLog(db).append([{ kind: 'delivery', body: delivery('later', item()), arrivedAtMs: Date.now() }]);
  db.close();
  expect((await run(home, 'rebuild', '--check')).code).toBe(0);
  expect((await run(home, 'rebuild')).stdout).toContain('every table is what the event log says');
  expect(digests(path)).not.toEqual(right);
});

test('another program’s file is left alone, and so is everything where the event log does not go back to its beginning', async () => {
  const { home, path } = await onceServed();
  const bytes = readFileSync(path);
  tamperWithLog(path, 'DELETE FROM log WHERE seq = 1');
  for (const args of [['--check'], []]) {
    const { code, stdout, stderr } = await run(home, 'rebuild', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/mirror\.log\.db begins with entry 2: those before it are pruned, or lost /);
  }
  expect(readFileSync(path).equals(bytes)).toBe(true);

  tamperWithLog(
    path,
    `INSERT INTO log (seq, kind, at_ms, payload) VALUES (1, 'listed', 1, CAST('{}' AS BLOB))`,
  );
  tamperWithLog(path, 'DELETE FROM log WHERE seq = 2');
  expect((await run(home, 'rebuild')).stderr).toContain('were lost before an epoch began');
  writeFileSync(path, 'not a database at all, but long enough to be looked at as one'.repeat(20));
  expect((await run(home, 'rebuild')).code).toBe(1);
  expect(readFileSync(path, 'utf8')).toContain('not a database at all');
  rmSync(eventLogPath(path));
  expect((await run(home, 'rebuild')).stderr).toContain('there is no event log at ');
  expect(draftsIn(home)).toEqual([]);
});

test('Ctrl-C leaves the mirror as it was, and no draft', async () => {
  const { home, path } = await onceServed();
  const db = openLogForAppending(eventLogPath(path));
  onTestFinished(() => void db.close());
  const log = new EventLog(db);
  for (let n = 0; n < 40; n += 1) {
    log.append(
      Array.from({ length: 500 }, (_, i) => {
        const body = delivery(`more-${n}-${i}`, item({ id: String(i), old: n, new: n + 1 }));
        return { kind: 'delivery', body, arrivedAtMs: Date.now() } as const;
      }),
    );
  }
  const bytes = readFileSync(path);
  const command = start(home, 'rebuild');
  await eventually(() => draftsIn(home).length > 0, { what: 'a draft grows beside the mirror' });
  command.signal('SIGINT');
  const { code, stderr } = await command.ended;
  expect(code).toBe(130);
  expect(stderr).toContain('stopped; nothing was changed');
  expect(readFileSync(path).equals(bytes)).toBe(true);
  expect(draftsIn(home)).toEqual([]);
});
