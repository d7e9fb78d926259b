import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openReader, type Db } from '../../src/sqlite/open.ts';
import { refuseCutFile } from '../../src/sqlite/refuse-cut-file.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

function opened(path: string): Db {
  const db = new Database(path);
  onTestFinished(() => void db.close());
  return db;
}

/** Ends with the pages of a long text. @param endLog is called while the log has all of them. */
function fileWithText(endLog: (db: Db) => void): string {
  const path = join(temporaryFolder(), 'text.db');
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE texts (text)');
  db.prepare('INSERT INTO texts VALUES (?)').run('x'.repeat(100_000));
  endLog(db);
  db.close();
  return path;
}

function cutLastPage(path: string): void {
  truncateSync(path, statSync(path).size - 1_000);
}

const REFUSAL = expect.objectContaining({
  kind: 'damaged',
  message: expect.stringContaining('is damaged: it ends after'),
});

test('refuses a file that ends within a page, which SQLite’s own check takes for sound', () => {
  const path = fileWithText(() => undefined);
  refuseCutFile(opened(path));
  cutLastPage(path);
  const db = opened(path);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(() => refuseCutFile(db)).toThrow(REFUSAL);
  expect(() => refuseCutFile(openReader(path))).toThrow(REFUSAL);
});

test('takes a file whose write-ahead log still has the page that was cut', () => {
  let log = Buffer.alloc(0);
  const path = fileWithText((db) => (log = readFileSync(`${db.name}-wal`)));
  cutLastPage(path);
  writeFileSync(`${path}-wal`, log);
  const text = 'SELECT text FROM texts';
  refuseCutFile(openReader(path));
  const db = opened(path);
  refuseCutFile(db);
  expect(db.prepare(text).pluck().get()).toBe('x'.repeat(100_000));
});

test('does not judge a file while an earlier reader keeps pages in the write-ahead log', () => {
  const path = fileWithText(() => undefined);
  const reader = openReader(path);
  onTestFinished(() => void reader.close());
  const writer = opened(path);
  writer.pragma('journal_mode = WAL');
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM texts').get();
  writer.prepare('INSERT INTO texts VALUES (?)').run('y'.repeat(100_000));
  cutLastPage(path);
  expect(() => refuseCutFile(writer)).not.toThrow();
});
