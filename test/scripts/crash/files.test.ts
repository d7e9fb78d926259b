/** A course of kills may begin with starts that are killed before there is a database. */
import Database from 'better-sqlite3';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { age } from '../../../scripts/crash/files.ts';

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-crash-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'mirror.db');
}

test('there is nothing to make old before a start has made the tables', () => {
  const path = newPath();
  expect(age(path, 9)).toBeNull();
  writeFileSync(path, '');
  expect(age(path, 9)).toBeNull();
  const db = new Database(path);
  db.exec('CREATE TABLE changes (seq, log_seq, recorded_at_ms); CREATE TABLE log (seq, at_ms)');
  db.close();
  expect(age(path, 9)).toEqual({ logSeq: 0, changeSeq: 0 });
});
