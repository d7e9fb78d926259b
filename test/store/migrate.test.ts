/** A schema is made whole or not at all, whatever interrupts the making. */
import { existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { knownSchemaVersion, migrate } from '../../src/store/migrate.ts';
import { run } from './child.ts';
import { newPath, values, writerDb } from './mirror-file.ts';

function database(path: string): Database.Database {
  const db = new Database(path);
  onTestFinished(() => void db.close());
  return db;
}

const objects = (db: Database.Database): unknown[] => values(db, 'SELECT name FROM sqlite_master');

function expectCompleted(path: string): void {
  const db = writerDb(path);
  expect(values(db, 'SELECT schema_version FROM mirror_status')).toEqual([knownSchemaVersion()]);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
}

test.each([2, 20, 35])('killed before its statement %i, the next start makes all of it', async (at) => {
  const path = newPath();
  const child = run('die-in-migration.ts', path, String(at));
  await expect(child.nextLine()).rejects.toThrow('ended before');
  expect(existsSync(path)).toBe(true);
  // Half of it is in the file, without a commit.
  if (at > 2) expect(statSync(`${path}-wal`).size).toBeGreaterThan(4_096);
  const left = database(path);
  expect(objects(left)).toEqual([]);
  left.close();
  expectCompleted(path);
});

test.each([1, 3, 37])(
  'a fault in its statement %i leaves nothing, and the next start makes all of it',
  (at) => {
    const path = newPath();
    const db = database(path);
    const exec = db.exec.bind(db);
    let count = 0;
    db.exec = (sql) => {
      count += 1;
      if (count === at) throw new Error('a fault of the disk');
      return exec(sql);
    };
    expect(() => migrate(db)).toThrow('a fault of the disk');
    expect(objects(db)).toEqual([]);
    db.close();
    expectCompleted(path);
  },
);

test('on a disk with room for half of it the cause is told, and nothing is left', () => {
  const path = newPath();
  const db = database(path);
  db.pragma('max_page_count = 20');
  expect(() => migrate(db)).toThrow('database or disk is full');
  expect(objects(db)).toEqual([]);
  db.close();
  expectCompleted(path);
});
