import { expect, test } from 'vitest';
import { explained } from '../../src/sqlite/explain.ts';

const dlopen = (message: string): Error => Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });

test('names why SQLite cannot be loaded, and no file that has nothing to do with it', () => {
  const { message } = explained('/data/mirror.db', dlopen('/x/linux-x64.node: invalid ELF header'));
  expect(message).toMatch(
    /^SQLite cannot be loaded: \/x\/linux-x64\.node: invalid ELF header: use a system with glibc/,
  );
  expect(message).not.toContain('mirror.db');
});
