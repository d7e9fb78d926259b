/** What a mirror notes beside its file. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { writeMirrorNote, readMirrorNote } from '../../src/inbox/mirror-note.ts';
import { ownFile } from '../../src/sqlite/database-files.ts';
import { canBeOdd, needsForOdd, oddDisk } from '../process/disk/odd-disk.ts';
import { newPath } from '../mirror/mirror-file.ts';

const MODULE = fileURLToPath(new URL('../../src/inbox/mirror-note.ts', import.meta.url));

test.each(['', '{', '{"epoch":1}', 'null'])('reads a note of %j as none', (text) => {
  const path = newPath();
  writeFileSync(ownFile(path, 'numbers'), text);
  expect(readMirrorNote(path)).toBeNull();
});

test.skipIf(!canBeOdd)(`keeps the note before until the new one is on disk${needsForOdd}`, () => {
  const path = newPath();
  const before = { epoch: 'e', changeSeq: 1, inboxId: 'i', prunableSeq: 4 };
  writeMirrorNote(path, before);
  const disk = oddDisk(dirname(path), 'fails');
  disk.begin();
  const script = `
    import { writeMirrorNote } from ${JSON.stringify(MODULE)};
    writeMirrorNote(${JSON.stringify(path)}, { epoch: 'e', changeSeq: 2, inboxId: 'i', prunableSeq: 4 });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: { ...process.env, ...disk.env },
  });
  expect(stderr).toContain('EIO');
  expect(status).toBe(1);
  expect(readMirrorNote(path)).toEqual(before);
});
