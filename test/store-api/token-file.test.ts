import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fingerprintOf } from '../../src/store-api/token/credentials.ts';
import { createTokenFile, type TokenState } from '../../src/store-api/token/token-file.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { connect, SECRET, START_MS } from './connection.ts';
import { startStubService } from './stub-service.ts';

const state: TokenState = {
  token: { accessToken: 'token-1', issuedAtMs: START_MS, expiresAtMs: START_MS + 1000 },
  lockout: { atMs: START_MS, description: 'refused', requestId: null },
  pause: { fromMs: START_MS, untilMs: START_MS + 5 },
};

function fileAt(path: string, clientSecret = SECRET) {
  return createTokenFile(path, fingerprintOf('https://service.test', { clientId: 'c', clientSecret }));
}

const freshPath = () => join(temporaryFolder(), 'token.json');
const modeOf = (path: string) => statSync(path).mode & 0o777;

test('reads back the written state only with the same secret', async () => {
  const path = freshPath();
  expect(await fileAt(path).read()).toBeNull();
  await fileAt(path).write(state);
  expect(await fileAt(path).read()).toEqual(state);
  expect(modeOf(path)).toBe(0o600);
  expect(readFileSync(path, 'utf8')).not.toContain(SECRET);
  expect(await fileAt(path, 'another').read()).toBeNull();
});

describe('the file', () => {
  test('is set to mode 0600 by each write', async () => {
    const path = freshPath();
    await fileAt(path).write(state);
    chmodSync(path, 0o666);
    await fileAt(path).write(state);
    expect(modeOf(path)).toBe(0o600);
  });

  test('leaves no draft, also on failure', async () => {
    const path = freshPath();
    await fileAt(path).write(state);
    await fileAt(path).write(state);
    expect(readdirSync(dirname(path))).toEqual(['token.json']);
    const folder = freshPath();
    mkdirSync(folder);
    await expect(fileAt(folder).write(state)).rejects.toThrow(
      `the token file ${folder} cannot be written: EISDIR`,
    );
    expect(readdirSync(dirname(folder))).toEqual(['token.json']);
  });
});

test.each([
  ['empty', ''],
  ['cut', '{"version":1,"baseUrl":"https://'],
  ['not text', '\u0000\u0001'],
  ['foreign JSON', '{"access_token":"x"}'],
  ['of a later version', '{"version":2}'],
])('replaces a file that is %s', async (_name, text) => {
  const service = await startStubService();
  const tokenFilePath = freshPath();
  writeFileSync(tokenFilePath, text);
  const first = connect({ baseUrl: service.baseUrl, tokenFilePath });
  expect(await first.tokens.getToken()).toBe('token-1');
  const second = connect({ baseUrl: service.baseUrl, tokenFilePath });
  expect(await second.tokens.getToken()).toBe('token-1');
  expect(first.fileErrors).toEqual([]);
});
