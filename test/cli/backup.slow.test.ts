import {
  chmodSync,
  copyFileSync,
  linkSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { openBoth } from '../mirror/direct-writer.ts';
import { restoreDatabase } from '../../src/mirror/file/backup.ts';
import { openReader } from '../../src/sqlite/open.ts';
import { statusOf } from '../process/harness.ts';
import {
  databaseOf,
  differencesOf,
  eventually,
  homeOf,
  run,
  startServer,
  startService,
  untilQuiet,
  type Home,
} from './harness.ts';

const OUR_FILES = /^mirror\.(inbox\.)?db/;

function leftIn(home: Home): string[] {
  return readdirSync(home.folder).filter((name) => !OUR_FILES.test(name));
}

test('copies a served mirror whole, and a mirror started on the copy begins a new epoch', async () => {
  const sandbox = await startService({ products: 30 });
  const home = await homeOf(sandbox);
  const server = await startServer(home, sandbox);
  await untilQuiet(home);
  sandbox.traffic.start(40);
  const made = await run(home, 'backup', 'copy.db', '--json');
  sandbox.traffic.stop();
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const copy = join(home.folder, 'copy.db');
  const report = JSON.parse(made.stdout) as { epoch: string; last_seq: number; bytes: number };
  expect(report).toMatchObject({ path: copy, bytes: statSync(copy).size });
  expect(leftIn(home)).toEqual(['copy.db']);

  const original = statusOf(databaseOf(home));
  const { epoch, last_seq } = report;
  expect(statusOf(copy)).toMatchObject({ epoch, last_seq, state: 'stale' });
  expect(report.epoch).toBe(original.epoch);
  expect(report.last_seq).toBeLessThanOrEqual(original.last_seq);
  const db = openReader(copy);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(db.pragma('journal_mode', { simple: true })).toBe('delete');
  db.close();

  const refused = await run(home, 'backup', '--restore', 'copy.db');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/another (program|stock-mirror)/);

  // A killed mirror leaves a write-ahead log, which SQLite would apply to the restored file.
  server.signal('SIGKILL');
  await server.ended;
  expect(statSync(`${databaseOf(home)}-wal`).size).toBeGreaterThan(0);
  const before = statusOf(databaseOf(home));
  const mode = statSync(databaseOf(home)).mode;
  const restoring = await run(home, 'backup', '--restore', 'copy.db');
  expect(restoring).toMatchObject({ code: 0, stderr: '' });
  expect(restoring.stdout).toContain(`last change ${last_seq}`);
  expect(readdirSync(home.folder).filter((name) => /^\.|-(wal|shm)$/.test(name))).toEqual(
    readdirSync(home.folder).filter((name) => /inbox/.test(name) && /-(wal|shm)$/.test(name)),
  );
  expect(statusOf(databaseOf(home))).toMatchObject({ epoch, last_seq });
  expect(statSync(databaseOf(home)).mode).toBe(mode);
  const restored = await startServer(home, sandbox);
  await eventually(() => restored.stdout.includes('a new epoch has begun'), { what: 'a new epoch' });
  await untilQuiet(home);
  const after = statusOf(databaseOf(home));
  expect(after.epoch).not.toBe(before.epoch);
  expect(after.last_seq).toBeGreaterThan(before.last_seq);
  expect(differencesOf(home, sandbox)).toEqual([]);
});

describe('of a stopped mirror', () => {
  let home: Home;
  beforeAll(async () => {
    home = await homeOf(await startService());
    openBoth(databaseOf(home)).close();
    chmodSync(databaseOf(home), 0o640);
  });

  test('replaces a file only with --force', async () => {
    const path = join(home.folder, 'there.db');
    writeFileSync(path, 'something else');
    const refused = await run(home, 'backup', 'there.db');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('there.db exists: name another file, or replace it with --force');
    expect(statSync(path).size).toBe(14);
    const { stderr } = await run(home, 'backup', '/proc/copy.db');
    expect(stderr).toMatch(
      /^error: cannot write in \/proc \(E\w+\): check disk space and permissions, [^:]+$/,
    );
    expect((await run(home, 'backup', 'there.db', '--force')).code).toBe(0);
    expect(statusOf(path).last_seq).toBe(0);
  });

  test('restores only what is a mirror, and only while no program has the old one open', async () => {
    const path = databaseOf(home);
    expect((await run(home, 'backup', 'good.db')).code).toBe(0);
    writeFileSync(join(home.folder, 'other.db'), 'something else');
    copyFileSync(join(home.folder, 'good.db'), join(home.folder, 'cut.db'));
    truncateSync(join(home.folder, 'cut.db'), statSync(path).size - 1_000);
    const before = statSync(path).ino;
    for (const [args, code, message] of [
      [['--restore', 'nowhere.db'], 1, 'nowhere.db does not exist'],
      [['--restore', 'other.db'], 1, 'other.db is not a SQLite database'],
      [['--restore', 'cut.db'], 1, 'cut.db is damaged'],
      [['--restore', 'mirror.db'], 1, 'belongs to the mirror that would be replaced'],
      [['--restore', 'mirror.inbox.db'], 1, 'belongs to the mirror that would be replaced'],
      [['--restore', 'good.db', 'more.db'], 2, 'name one file'],
      [[], 2, 'name one file'],
    ] as const) {
      const refused = await run(home, 'backup', ...args);
      expect(refused).toMatchObject({ code, stdout: '' });
      expect(refused.stderr).toContain(message);
    }
    const reader = openReader(path);
    reader.prepare('SELECT 1 FROM mirror_status').get();
    const { code, stderr } = await run(home, 'backup', '--restore', 'good.db');
    reader.close();
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('fuser -v') as string,
    });
    expect(statSync(path).ino).toBe(before);
  });

  test('restores once a program that had the mirror open for a query has closed it', async () => {
    const path = databaseOf(home);
    expect((await run(home, 'backup', 'brief.db')).code).toBe(0);
    const before = statSync(path).ino;
    const reader = openReader(path);
    reader.prepare('SELECT 1 FROM mirror_status').get();
    // It has found the file in use by the time that it returns its promise.
    const restored = restoreDatabase(join(home.folder, 'brief.db'), path, {
      onProgress: () => undefined,
      interrupted: new AbortController().signal,
    });
    reader.close();
    expect(await restored).toMatchObject({ path });
    expect(statSync(path).ino).not.toBe(before);
  });

  test('restores over a damaged mirror, and where there was none', async () => {
    const path = databaseOf(home);
    expect((await run(home, 'backup', 'whole.db', '--force')).code).toBe(0);
    const writer = new Database(path);
    writer.pragma('journal_mode = WAL');
    writer.exec('CREATE TABLE left_behind (x)');
    copyFileSync(`${path}-wal`, join(home.folder, 'old-wal'));
    writer.close();
    writeFileSync(path, 'x'.repeat(8_192));
    copyFileSync(join(home.folder, 'old-wal'), `${path}-wal`);
    expect(await run(home, 'backup', '--restore', 'whole.db')).toMatchObject({ code: 0, stderr: '' });
    const restored = openReader(path);
    expect(restored.prepare("SELECT name FROM sqlite_master WHERE name = 'left_behind'").all()).toEqual([]);
    restored.close();
    rmSync(path);
    expect(await run(home, 'backup', '--restore', 'whole.db')).toMatchObject({ code: 0, stderr: '' });
    expect(statusOf(path).last_seq).toBe(0);
  });

  test('never replaces the database or its companions, under any name', async () => {
    const size = statSync(databaseOf(home)).size;
    symlinkSync('mirror.db', join(home.folder, 'by-symlink'));
    linkSync(databaseOf(home), join(home.folder, 'by-link'));
    for (const name of [
      ...['mirror.db', './mirror.db-wal', 'mirror.db.aside', 'by-symlink', 'by-link'],
      ...['mirror.inbox.db', 'mirror.inbox.db-wal'],
    ]) {
      const { code, stderr } = await run(home, 'backup', name, '--force');
      expect(code).toBe(1);
      expect(stderr).toContain('belongs to the database that is read: name another file');
    }
    expect(statSync(databaseOf(home)).size).toBe(size);
  });
});
