import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkDisk } from '../../../src/cli/doctor/files.ts';

test('counts the write-ahead log as a part of the database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'mirror.db');
  writeFileSync(path, Buffer.alloc(200_000));
  writeFileSync(`${path}-wal`, Buffer.alloc(9_000_000));
  expect(JSON.stringify(checkDisk(path))).toContain('the database has 9.2 MB');
});
