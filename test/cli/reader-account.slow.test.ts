/** An account that may read the mirror's file, and knows no settings of the store. */
import { expect, test } from 'vitest';
import { ConfigError, loadLocalConfig } from '../../src/config/config.ts';
import { recipesMirror } from '../docs/recipes-mirror.ts';
import { run, temporaryFolder } from './harness.ts';

test.each([
  [['status'], /^mirrored +\d+ products/m],
  [['status', '--json'], /"last_seq":39/],
  [['export', '--format', 'csv'], /TS-RED-M/],
  [['export', '--format', 'json', '--changes'], /"seq":39/],
])('%j needs the path of the database alone', async (args, printed) => {
  const home = { folder: temporaryFolder(), env: { DATABASE_PATH: recipesMirror() } };
  const { code, stdout, stderr } = await run(home, ...args);
  expect(stderr).toBe('');
  expect(stdout).toMatch(printed);
  // Whether a mirror keeps the file is another question.
  if (args[0] !== 'status') expect(code).toBe(0);
  else expect(code).not.toBe(2);
});

test('a wrong path is still wrong, and other commands still ask for the store', async () => {
  const home = { folder: temporaryFolder(), env: { DATABASE_PATH: ':memory:' } };
  const wrong = await run(home, 'status');
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('DATABASE_PATH is ":memory:"');
  expect(wrong.stderr).not.toContain('SERVICE_');
  const verify = await run({ ...home, env: { DATABASE_PATH: recipesMirror() } }, 'verify');
  expect(verify.code).toBe(2);
});

const unreadable = (path: string): never => {
  throw Object.assign(new Error(path), { code: 'EACCES' });
};

test('secrets out of reach are no problem to who needs none', () => {
  const env = {
    DATABASE_PATH: '/var/lib/mirror.db',
    OPS_TOKEN_FILE: '/etc/secret',
  };
  const config = loadLocalConfig({ env, cwd: '/srv', readFile: unreadable });
  expect(config.database.path).toBe('/var/lib/mirror.db');
  expect(config.ops.token).toBeNull();
  expect(() => loadLocalConfig({ env: { OPS_PORT: 'x' }, cwd: '/srv', readFile: unreadable })).toThrow(
    ConfigError,
  );
});
