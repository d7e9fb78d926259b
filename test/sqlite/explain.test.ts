import { expect, test } from 'vitest';
import { explained } from '../../src/sqlite/explain.ts';

const dlopen = (message: string): Error => Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });

test('names the version of glibc that SQLite needs, and no file that has nothing to do with it', () => {
  const error = dlopen(
    "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /x/linux-x64.node)",
  );
  const { message } = explained('/data/mirror.db.lock', error);
  expect(message).toMatch(
    /^SQLite cannot be loaded: it needs glibc 2\.34 or newer, and this system has \d.*image\.$/,
  );
  expect(message).not.toContain('mirror.db.lock');
});

test('names why SQLite cannot be loaded otherwise', () => {
  const { message } = explained('/data/mirror.db', dlopen('/x/linux-x64.node: invalid ELF header'));
  expect(message).toBe(
    'SQLite cannot be loaded: /x/linux-x64.node: invalid ELF header: install stock-mirror again on this system, ' +
      'with its Node.',
  );
});
