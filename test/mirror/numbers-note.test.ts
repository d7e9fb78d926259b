/** The note of the change numbers that readers may have seen. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { noteHandedOut, readHandedOut } from '../../src/mirror/numbers-note.ts';
import { ownFile } from '../../src/sqlite/database-files.ts';
import { canBeOdd, needsForOdd, oddDisk } from '../process/disk/odd-disk.ts';
import { newPath } from './mirror-file.ts';

const MODULE = fileURLToPath(new URL('../../src/mirror/numbers-note.ts', import.meta.url));

test.each(['', '{', '{"epoch":1}', 'null'])('reads a note of %j as none', (text) => {
  const path = newPath();
  writeFileSync(ownFile(path, 'numbers'), text);
  expect(readHandedOut(path)).toBeNull();
});

test.skipIf(!canBeOdd)(`keeps the note before until the new one is on disk${needsForOdd}`, () => {
  const path = newPath();
  const before = { epoch: 'e', changeSeq: 1 };
  noteHandedOut(path, before);
  const disk = oddDisk(dirname(path), 'fails');
  disk.begin();
  const script = `
    import { noteHandedOut } from ${JSON.stringify(MODULE)};
    noteHandedOut(${JSON.stringify(path)}, { epoch: 'e', changeSeq: 2 });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: { ...process.env, ...disk.env },
  });
  expect(stderr).toContain('EIO');
  expect(status).toBe(1);
  expect(readHandedOut(path)).toEqual(before);
});
