import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTokenFile } from '../../src/store-api/token/token-file.ts';
import type { TokenState } from '../../src/store-api/token/token-file.ts';
import { connect, SECRET, START_MS, temporaryFolder } from './connection.ts';
import { startStubService } from './stub-service.ts';

const state: TokenState = {
  token: { accessToken: 'token-1', issuedAtMs: START_MS, expiresAtMs: START_MS + 1000 },
  latch: { atMs: START_MS, description: 'refused', requestId: null },
  pause: { fromMs: START_MS, untilMs: START_MS + 5 },
};

function fileAt(path: string, clientSecret = SECRET) {
  return createTokenFile({ path, baseUrl: 'https://service.test', clientId: 'c', clientSecret });
}

const freshPath = () => join(temporaryFolder(), 'token.json');
const modeOf = (path: string) => statSync(path).mode & 0o777;

test('what was written is read, by another reader too', async () => {
  const path = freshPath();
  expect(await fileAt(path).read()).toBeNull();
  await fileAt(path).write(state);
  expect(await fileAt(path).read()).toEqual(state);
  expect(await fileAt(path, 'another').read()).toBeNull();
});

test('the secret is not in the file, and its fingerprint differs from file to file', async () => {
  const texts = [];
  for (const path of [freshPath(), freshPath()]) {
    await fileAt(path).write(state);
    texts.push(readFileSync(path, 'utf8'));
  }
  const prints = texts.map((text) => (JSON.parse(text) as { fingerprint: string }).fingerprint);
  expect(prints[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(prints[0]).not.toBe(prints[1]);
  for (const text of texts) expect(text).not.toContain('very');
});

describe('the file', () => {
  test('has mode 0600, whatever the umask', async () => {
    const path = freshPath();
    const before = process.umask(0);
    try {
      await fileAt(path).write(state);
    } finally {
      process.umask(before);
    }
    expect(modeOf(path)).toBe(0o600);
  });

  test('found wider is narrowed, by reading and by writing', async () => {
    const path = freshPath();
    await fileAt(path).write(state);
    chmodSync(path, 0o644);
    expect(await fileAt(path).read()).toEqual(state);
    expect(modeOf(path)).toBe(0o600);
    chmodSync(path, 0o666);
    await fileAt(path).write(state);
    expect(modeOf(path)).toBe(0o600);
  });

  test('is replaced whole and leaves nothing beside it, also when that fails', async () => {
    const path = freshPath();
    await fileAt(path).write(state);
    await fileAt(path).write(state);
    expect(readdirSync(dirname(path))).toEqual(['token.json']);

    const folder = freshPath();
    mkdirSync(folder);
    await expect(fileAt(folder).write(state)).rejects.toMatchObject({ code: 'EISDIR' });
    expect(readdirSync(dirname(folder))).toEqual(['token.json']);
  });

  test('survives writers at the same time', async () => {
    const path = freshPath();
    await Promise.all(Array.from({ length: 10 }, () => fileAt(path).write(state)));
    expect(await fileAt(path).read()).toEqual(state);
  });
});

test.each([
  ['empty', ''],
  ['cut', '{"version":1,"baseUrl":"https://'],
  ['not text', '\u0000\u0001'],
  ['foreign JSON', '{"access_token":"x"}'],
  ['of a later version', '{"version":2}'],
])('a file that is %s counts as none and is replaced', async (_name, text) => {
  const service = await startStubService();
  const tokenFilePath = freshPath();
  writeFileSync(tokenFilePath, text);
  const first = connect({ baseUrl: service.baseUrl, tokenFilePath });
  expect(await first.tokens.getToken()).toBe('token-1');
  const second = connect({ baseUrl: service.baseUrl, tokenFilePath });
  expect(await second.tokens.getToken()).toBe('token-1');
  expect(first.fileErrors).toEqual([]);
});

test('a file with a wrong fingerprint counts as none', async () => {
  const path = freshPath();
  await fileAt(path).write(state);
  const file = JSON.parse(readFileSync(path, 'utf8')) as object;
  for (const fingerprint of ['00'.repeat(32), '', 'zz']) {
    writeFileSync(path, JSON.stringify({ ...file, fingerprint }));
    expect(await fileAt(path).read()).toBeNull();
  }
});
