import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { followLinks } from '../../src/config/linked-path.ts';
import { storeAt, temporaryFolder } from '../mirror/mirror-file.ts';

/** With `disk/mirror.db`, and links: to it, to a file that is not there yet, to its folder, in a circle. */
function folderWithLinks(): string {
  const folder = realpathSync(temporaryFolder());
  mkdirSync(join(folder, 'disk'));
  writeFileSync(join(folder, 'disk/mirror.db'), '');
  symlinkSync(join(folder, 'disk/mirror.db'), join(folder, 'absolute.db'));
  symlinkSync('disk/mirror.db', join(folder, 'relative.db'));
  symlinkSync('relative.db', join(folder, 'twice.db'));
  symlinkSync('disk/later.db', join(folder, 'dangling.db'));
  symlinkSync('disk', join(folder, 'linked'));
  symlinkSync('../later.db', join(folder, 'disk/up.db'));
  mkdirSync(join(folder, 'deep'));
  symlinkSync('../disk', join(folder, 'deep/linked'));
  symlinkSync('circle.db', join(folder, 'circle.db'));
  return folder;
}

test.each([
  ['disk/mirror.db', 'disk/mirror.db'],
  ['absolute.db', 'disk/mirror.db'],
  ['relative.db', 'disk/mirror.db'],
  ['twice.db', 'disk/mirror.db'],
  ['dangling.db', 'disk/later.db'],
  ['linked/mirror.db', 'disk/mirror.db'],
  ['linked/new.db', 'disk/new.db'],
  ['linked/new/deeper/new.db', 'disk/new/deeper/new.db'],
  ['deep/linked/up.db', 'later.db'],
  ['none/new.db', 'none/new.db'],
  ['circle.db', 'circle.db'],
])('%s leads to %s', (path, target) => {
  const folder = folderWithLinks();
  expect(followLinks(join(folder, path))).toBe(join(folder, target));
});

test('a mirror is one and the same by its link: only one may serve it', async () => {
  const folder = folderWithLinks();
  const required = {
    SERVICE_BASE_URL: 'https://service.example',
    SERVICE_CLIENT_ID: 'client',
    SERVICE_CLIENT_SECRET: 'secret-of-the-client',
    SERVICE_WEBHOOK_SECRET: 'secret-of-the-webhook',
  };
  const configured = (path: string): string =>
    loadConfig({ env: { ...required, DATABASE_PATH: path }, cwd: folder }).database.path;
  await storeAt(configured('dangling.db'));
  await expect(storeAt(configured('disk/later.db'))).rejects.toThrow('already serves');
});
