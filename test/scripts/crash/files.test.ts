/** A course of kills may begin with starts that are killed before there is a database. */
import Database from 'better-sqlite3';
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { age } from '../../../scripts/crash/files.ts';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import { newPath } from '../../mirror/mirror-file.ts';

test('there is nothing to make old before a start has made the tables', () => {
  const path = newPath();
  expect(age(path, 9)).toBeNull();
  writeFileSync(path, '');
  expect(age(path, 9)).toBeNull();
  const db = new Database(path);
  db.exec('CREATE TABLE changes (seq, log_seq, recorded_at_ms); CREATE TABLE own_write (is_open)');
  db.close();
  expect(age(path, 9)).toBeNull();
  const log = new Database(eventLogPath(path));
  log.exec('CREATE TABLE log (seq, at_ms)');
  log.close();
  expect(age(path, 9)).toEqual({ logSeq: 0, changeSeq: 0 });
});
