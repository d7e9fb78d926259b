import { linkSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { refuseTarget } from '../../src/sqlite/database-files.ts';
import { lockDatabase } from '../../src/sqlite/lock.ts';
import { writeMirrorNote } from '../../src/inbox/mirror-note.ts';
import { openBoth } from '../mirror/direct-writer.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

const OWN = 'belongs to the database that is read: name another file';

test('refuses each file that the program writes next to its databases, under any name', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'mirror.db');
  const databases = [path, inboxPath(path)];
  const both = openBoth(path);
  const lock = lockDatabase(path);
  writeMirrorNote(path, { epoch: 'e', changeSeq: 1, inboxId: 'i', prunableSeq: 0 });
  const found = readdirSync(folder);
  expect(found).toContain('mirror.db.numbers');
  lock.release();
  both.close();
  linkSync(`${path}.numbers`, join(folder, 'by-link'));
  const unfinished = ['mirror.db.numbers.new', 'mirror.db.new', 'mirror.db.new-wal', 'mirror.db-wal.new'];
  const aside = ['mirror.db.aside', 'mirror.db.aside-wal', 'mirror.inbox.db.aside'];
  for (const name of [...found, ...unfinished, ...aside, 'mirror.db.token', 'by-link']) {
    expect(() => refuseTarget(databases, join(folder, name), { force: true }), name).toThrow(OWN);
  }
  for (const name of ['mirror.db.copy', 'mirror.csv', 'mirror.db.numbers.csv']) {
    writeFileSync(join(folder, name), '');
    expect(() => refuseTarget(databases, join(folder, name), { force: true }), name).not.toThrow();
  }
});
