import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkDisk } from '../../../src/cli/doctor/files.ts';
import { temporaryFolder } from '../../shared/temporary-folder.ts';

test('counts the write-ahead log as a part of the database', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'mirror.db');
  writeFileSync(path, Buffer.alloc(200_000));
  writeFileSync(`${path}-wal`, Buffer.alloc(9_000_000));
  expect(JSON.stringify(checkDisk(path))).toContain('the database has 9.2 MB');
});
