import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openMirrorFile } from '../../src/cli/shared/mirror-file.ts';
import { openWriter } from '../../src/mirror/file/open-writer.ts';
import { temporaryFolder } from './harness.ts';

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);

beforeAll(() => {
  openWriter(at('mirror.db')).close();
  for (const [name, change] of [
    [
      'older.db',
      'DELETE FROM __drizzle_migrations WHERE rowid = (SELECT max(rowid) FROM __drizzle_migrations)',
    ],
    ['newer.db', `INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 9e15)`],
  ] as const) {
    copyFileSync(at('mirror.db'), at(name));
    const db = openWriter(at(name));
    db.exec(change);
    db.close();
  }
  writeFileSync(at('empty.db'), '');
  writeFileSync(at('text.db'), 'not a database, but long enough to be read as the header of one'.repeat(20));
  mkdirSync(at('folder.db'));
});

test.each([
  ['missing.db', /missing\.db does not exist: run `stock-mirror serve` first, or correct DATABASE_PATH$/],
  ['empty.db', /empty\.db is empty: start the mirror, which fills it\.$/],
  ['text.db', /text\.db is not a SQLite database \(SQLITE_NOTADB\): move it away, or set DATABASE_PATH/],
  ['folder.db', /folder\.db is a folder: set DATABASE_PATH to a file\.$/],
  [
    'newer.db',
    /newer\.db has schema version \d+, this program knows up to \d+: install the newer stock-mirror/,
  ],
  ['older.db', /older\.db has schema version \d+, this program reads \d+: start the mirror to upgrade it\.$/],
])('names %s with a remedy', (name, said) => {
  expect(() => openMirrorFile(at(name))).toThrow(said);
});
