import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { checkFileSystem } from '../../src/cli/doctor/files.ts';
import { SqliteFault } from '../../src/sqlite/errors.ts';
import { explain, useWal } from '../../src/sqlite/explain.ts';
import { knownSchemaVersion } from '../../src/sqlite/migrate.ts';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { openInboxWriter } from '../../src/receiver/inbox-writer.ts';
import { openForWriting } from '../../src/receiver/open-inbox.ts';
import { openWriter } from '../../src/mirror/file/open-writer.ts';
import { newPath, rows, values } from '../mirror/mirror-file.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

function refusal(path: string, open: (path: string) => { close(): void } = openWriter): SqliteFault {
  try {
    open(path).close();
  } catch (error) {
    if (error instanceof SqliteFault) return error;
    throw error;
  }
  throw new Error(`${path} was opened`);
}

function foreign(path: string): Database.Database {
  const db = new Database(path);
  onTestFinished(() => void db.close());
  return db;
}

const FULL = 2;

test.each([
  ['the inbox syncs each commit and leaves checkpoints to its thread', openForWriting, 0],
  ['the mirror syncs each commit and checkpoints automatically', openWriter, 4096],
])('%s', (_name, open, autocheckpoint) => {
  const db = open(newPath());
  onTestFinished(() => void db.close());
  const pragma = (name: string): unknown => db.pragma(name, { simple: true });
  expect(pragma('journal_mode')).toBe('wal');
  expect(pragma('synchronous')).toBe(FULL);
  expect(pragma('fullfsync')).toBe(1);
  expect(pragma('wal_autocheckpoint')).toBe(autocheckpoint);
});

test('migrates an empty file, and reopening changes nothing', () => {
  const path = newPath();
  const first = openWriter(path);
  const schema = rows(first, 'SELECT name, sql FROM sqlite_master ORDER BY name');
  const epoch = values(first, 'SELECT epoch FROM mirror_status');
  expect(values(first, 'SELECT schema_version FROM mirror_status')).toEqual([knownSchemaVersion()]);
  first.close();
  const before = readFileSync(path);
  openWriter(path).close();
  expect(readFileSync(path).equals(before)).toBe(true);
  const again = openWriter(path);
  onTestFinished(() => void again.close());
  expect(rows(again, 'SELECT name, sql FROM sqlite_master ORDER BY name')).toEqual(schema);
  expect(values(again, 'SELECT epoch FROM mirror_status')).toEqual(epoch);
});

test('refuses a newer schema and names the remedy', () => {
  const path = newPath();
  const db = openWriter(path);
  db.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)').run('later', 9e15);
  db.close();
  const error = refusal(path);
  expect(error.kind).toBe('newer_schema');
  expect(error.message).toContain(path);
  expect(error.message).toContain(`version ${knownSchemaVersion() + 1}`);
  expect(error.message).toContain('install the newer stock-mirror');
});

test.each([
  ['below a regular file', 'file/mirror.db', openWriter],
  ['that is a folder', 'folder', openWriter],
  ['of an inbox below a regular file', 'file/mirror.db', openInboxWriter],
])('reports a path %s as unreachable', (_name, inside, open) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'file'), '');
  mkdirSync(join(folder, 'folder'));
  const path = join(folder, inside);
  const error = refusal(path, open);
  expect(error.kind).toBe('unreachable');
  expect(error.message).toContain(open === openInboxWriter ? inboxPath(path) : path);
  expect(error.message).toContain('DATABASE_PATH');
});

test.each([
  ['reads and writes it alone', 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE'],
  ['is in the middle of a write', 'BEGIN IMMEDIATE'],
])('reports busy if another program %s during a migration', (_name, hold) => {
  const path = newPath();
  const other = foreign(path);
  other.pragma('journal_mode = WAL');
  other.exec('CREATE TABLE theirs (x); DROP TABLE theirs');
  other.exec(hold);
  const error = refusal(path);
  expect(error.kind).toBe('busy');
  expect(error.message).toContain(path);
  expect(error.message).toContain('end its transaction');
  other.exec('ROLLBACK');
});

const NO_SHARED_MEMORY = /without the locks and shared memory .* set DATABASE_PATH to a file on a local disk/;

test('refuses a database without a write-ahead log', () => {
  expect(() => useWal(foreign(':memory:'))).toThrow(NO_SHARED_MEMORY);
});

test.each(['SQLITE_IOERR_SHMMAP', 'SQLITE_IOERR_SHMOPEN', 'SQLITE_IOERR_LOCK', 'SQLITE_PROTOCOL'])(
  'explains %s by the file system',
  (code) => {
    const open = (): never => {
      throw new Database.SqliteError('disk I/O error', code);
    };
    expect(() => explain('/mnt/mirror.db', open)).toThrow(NO_SHARED_MEMORY);
  },
);

test('the doctor names a network file system', () => {
  expect(checkFileSystem('/mnt', 0x6969)).toMatchObject([
    { status: 'fail', message: expect.stringContaining('/mnt is on NFS') as string },
  ]);
  expect(checkFileSystem('/mnt', 0xef53)).toEqual([]);
});
