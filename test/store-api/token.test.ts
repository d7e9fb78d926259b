import { describe, expect, test } from 'vitest';
import type { TokenFile, TokenState } from '../../src/store-api/token/token-file.ts';
import { connect, connected, failureOf, SECRET, START_MS } from './connection.ts';
import { sendError, sendHtml, sendJson, startStubService } from './stub-service.ts';

const TOKEN = '/oauth/token';
const HOUR_MS = 3_600_000;

/** A file that can be made to fail. */
function memoryFile(state: TokenState | null = null) {
  const held = { state, isBroken: true };
  const file: TokenFile = {
    read: () => Promise.resolve(held.state),
    write(next) {
      if (held.isBroken) return Promise.reject(new Error('disk full'));
      held.state = next;
      return Promise.resolve();
    },
  };
  return { file, held };
}

const living = (accessToken: string, expiresAtMs: number): TokenState => ({
  token: { accessToken, issuedAtMs: START_MS, expiresAtMs },
  lockout: null,
  pause: null,
});

/** A process, and others that start after it with its clock and token file. */
async function processes() {
  const service = await startStubService();
  const first = connect({ baseUrl: service.baseUrl });
  const { clock, tokenFilePath } = first;
  const another = (over: { clientId?: string; clientSecret?: string } = {}) =>
    connect({ baseUrl: service.baseUrl, clock, tokenFilePath, ...over });
  return { service, first, clock, another };
}

describe('a token', () => {
  test('is requested with the credentials in the form body only', async () => {
    const { service, tokens } = await connected();
    expect(await tokens.getToken()).toBe('token-1');
    const [request] = service.to(TOKEN);
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(request?.headers.authorization).toBeUndefined();
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client-7',
      client_secret: SECRET,
    });
  });

  test('is requested once for simultaneous callers', async () => {
    const { service, tokens } = await connected();
    const all = await Promise.all(Array.from({ length: 20 }, () => tokens.getToken()));
    expect(new Set(all)).toEqual(new Set(['token-1']));
    expect(service.to(TOKEN)).toHaveLength(1);
  });

  test('is refreshed five to ten minutes early', async () => {
    const { tokens, clock } = await connected();
    await tokens.getToken();
    clock.nowMs = START_MS + 4 * HOUR_MS - 7.5 * 60_000 - 1;
    expect(await tokens.getToken()).toBe('token-1');
    // The random number is always one half.
    clock.nowMs += 1;
    expect(await tokens.getToken()).toBe('token-2');
  });

  test.each([
    ['a failing', 500],
    ['a limiting', 429],
    ['an unintelligible', 404],
  ])('is used until it expires despite %s token endpoint', async (_name, status) => {
    const { service, tokens, clock } = await connected();
    await tokens.getToken();
    service.answer(TOKEN, (response) => sendHtml(response, status));
    clock.nowMs = START_MS + 4 * HOUR_MS - 1;
    expect(await tokens.getToken()).toBe('token-1');
    expect(await tokens.getToken()).toBe('token-1');
    expect(service.to(TOKEN)).toHaveLength(2);
    clock.nowMs = START_MS + 4 * HOUR_MS;
    await failureOf(tokens.getToken());
  });

  test('is dropped when refused, unless already replaced', async () => {
    const { service, tokens } = await connected({ file: memoryFile().file });
    const first = await tokens.getToken();
    tokens.invalidate(first);
    expect(await tokens.getToken()).toBe('token-2');
    tokens.invalidate(first);
    tokens.invalidate('never issued');
    expect(await tokens.getToken()).toBe('token-2');
    expect(service.to(TOKEN)).toHaveLength(2);
  });
});

test.each([
  ['14400', 4 * HOUR_MS],
  [3599.5, 3_599_500],
])('lives for the %j seconds of its answer', async (expiresIn, lifeMs) => {
  const { file, held } = memoryFile();
  held.isBroken = false;
  const { service, tokens } = await connected({ file });
  service.answer(TOKEN, (response) =>
    sendJson(response, 200, { access_token: 'a', token_type: 'Bearer', expires_in: expiresIn }),
  );
  expect(await tokens.getToken()).toBe('a');
  expect(held.state?.token?.expiresAtMs).toBe(START_MS + lifeMs);
});

test.each(['', '-1', '0', '4h', '1e4', null, -5])(
  'refuses the life %j as another answer',
  async (expiresIn) => {
    const { service, tokens } = await connected();
    service.answer(TOKEN, (response) =>
      sendJson(response, 200, { access_token: 'a', token_type: 'Bearer', expires_in: expiresIn }),
    );
    expect(await failureOf(tokens.getToken())).toMatchObject({ kind: 'contract' });
  },
);

describe('a token shared through the file', () => {
  test('is used by the next process instead of requesting one', async () => {
    const { service, first, another } = await processes();
    await first.tokens.getToken();
    expect(await another().tokens.getToken()).toBe('token-1');
    expect(service.to(TOKEN)).toHaveLength(1);
  });

  test('is used when another process refreshed it', async () => {
    const { service, first, another } = await processes();
    const second = another();
    const old = await first.tokens.getToken();
    await second.tokens.getToken();
    second.tokens.invalidate(old);
    expect(await second.tokens.getToken()).toBe('token-2');
    first.tokens.invalidate(old);
    expect(await first.tokens.getToken()).toBe('token-2');
    expect(service.to(TOKEN)).toHaveLength(2);
  });

  test.each([
    ['client id', { clientId: 'client-8' }],
    ['client secret', { clientSecret: 'another' }],
  ])('is not used with another %s', async (_name, other) => {
    const { first, another } = await processes();
    await first.tokens.getToken();
    expect(await another(other).tokens.getToken()).toBe('token-2');
  });

  test('never replaces a newer one in memory', async () => {
    const service = await startStubService();
    const { file, held } = memoryFile(living('old', START_MS + 2 * HOUR_MS));
    const { tokens, clock } = connect({ baseUrl: service.baseUrl, file });
    expect(await tokens.getToken()).toBe('old');
    clock.nowMs = START_MS + 2 * HOUR_MS - 1;
    held.state = living('newer', START_MS + 3 * HOUR_MS);
    expect(await tokens.getToken()).toBe('newer');
    clock.nowMs = START_MS + 3 * HOUR_MS - 1;
    held.state = living('old', START_MS + 2 * HOUR_MS);
    service.answer(TOKEN, (response) => sendError(response, 500, 'server_error'));
    expect(await tokens.getToken()).toBe('newer');
  });
});

describe('a refused secret', () => {
  async function refused() {
    const { service, first, another } = await processes();
    service.answer(TOKEN, (response, request) => {
      if (new URLSearchParams(request.body).get('client_secret') === SECRET)
        sendError(response, 401, 'invalid_client');
      else sendJson(response, 200, { access_token: 'good', token_type: 'Bearer', expires_in: 14400 });
    });
    const error = await failureOf(first.tokens.getToken());
    return { service, first, error, another };
  }

  test('is tried once', async () => {
    const { service, first, error, another } = await refused();
    expect(error).toMatchObject({ kind: 'credentials', status: 401, code: 'invalid_client' });
    for (const { tokens } of [first, first, another(), another()])
      expect(await failureOf(tokens.getToken())).toMatchObject({
        kind: 'credentials',
        code: 'invalid_client',
      });
    first.clock.nowMs += 30 * 24 * HOUR_MS;
    const later = await failureOf(another().tokens.getToken());
    expect(later.message).toContain(new Date(START_MS).toISOString());
    expect(later.requestId).toBe('token-request-1');
    expect(service.to(TOKEN)).toHaveLength(1);
  });

  test('is forgotten when the secret is replaced', async () => {
    const { another } = await refused();
    expect(await another({ clientSecret: 'replaced' }).tokens.getToken()).toBe('good');
  });

  test('is tried again after retryCredentials', async () => {
    const { service, first } = await refused();
    await first.tokens.retryCredentials();
    expect(await failureOf(first.tokens.getToken())).toMatchObject({ kind: 'credentials' });
    expect(service.to(TOKEN)).toHaveLength(2);
  });

  test('stays refused when the file cannot be written to lift it', async () => {
    const { file, held } = memoryFile();
    held.isBroken = false;
    const { service, tokens } = await connected({ file });
    service.answer(TOKEN, (response) => sendError(response, 401, 'invalid_client'));
    expect(await failureOf(tokens.getToken())).toMatchObject({ kind: 'credentials' });
    held.isBroken = true;
    await expect(tokens.retryCredentials()).rejects.toThrow('disk full');
    expect(await failureOf(tokens.getToken())).toMatchObject({ kind: 'credentials' });
    expect(service.to(TOKEN)).toHaveLength(1);
  });

  test.each([
    [400, 'unsupported_grant_type', 'contract'],
    [401, 'invalid_token', 'contract'],
    [403, 'access_denied', 'contract'],
    [404, 'not_found', 'contract'],
    [500, 'invalid_client', 'unavailable'],
  ])('is not inferred from %i %s', async (status, code, kind) => {
    const { service, tokens } = await connected();
    service.answer(TOKEN, (response) => sendError(response, status, code));
    expect(await failureOf(tokens.getToken())).toMatchObject({ kind, code });
    expect(await failureOf(tokens.getToken())).toMatchObject({ kind: 'unavailable' });
  });
});

test('retryCredentials writes no file when nothing is locked out', async () => {
  const { file, held } = memoryFile(living('good', START_MS + HOUR_MS));
  held.isBroken = true;
  const { tokens } = await connected({ file });
  await tokens.retryCredentials();
  expect(await tokens.getToken()).toBe('good');
});

test('slow_down pauses token requests for its time, also over a restart', async () => {
  const { service, first, clock, another } = await processes();
  service.answer(TOKEN, (response) => sendError(response, 429, 'slow_down', { 'Retry-After': '30' }));
  expect(await failureOf(first.tokens.getToken())).toMatchObject({
    kind: 'rate_limited',
    retryAfterMs: 30_000,
  });
  clock.nowMs += 29_999;
  const second = another();
  for (const { tokens } of [first, second])
    expect(await failureOf(tokens.getToken())).toMatchObject({ kind: 'rate_limited', retryAfterMs: 1 });
  expect(service.to(TOKEN)).toHaveLength(1);
  clock.nowMs += 1;
  await failureOf(second.tokens.getToken());
  expect(service.to(TOKEN)).toHaveLength(2);
});

test('a process told to slow down uses the token that another was issued meanwhile', async () => {
  const { file, held } = memoryFile();
  held.isBroken = false;
  const { service, tokens } = await connected({ file });
  service.answer(TOKEN, (response) => {
    held.state = living('other', START_MS + HOUR_MS);
    sendError(response, 429, 'slow_down');
  });
  expect(await tokens.getToken()).toBe('other');
  expect(held.state?.token?.accessToken).toBe('other');
});

test('a failing token endpoint is asked less and less often, and calls in between fail at once', async () => {
  const { service, tokens, clock } = await connected();
  service.answer(TOKEN, (response) => sendError(response, 500, 'server_error'));
  expect(await failureOf(tokens.getToken())).toMatchObject({ kind: 'unavailable', status: 500 });
  const waits: number[] = [];
  for (let n = 0; n < 8; n += 1) {
    const before = service.to(TOKEN).length;
    const error = await failureOf(tokens.getToken());
    expect(error).toMatchObject({ kind: 'unavailable', status: undefined });
    expect(error.message).toMatch(/failed token request: 500 server_error: [^.]+\. Try again in \d+ s\.$/);
    expect(service.to(TOKEN)).toHaveLength(before);
    const waitMs = error.retryAfterMs ?? 0;
    waits.push(waitMs);
    clock.nowMs += waitMs;
    expect(await failureOf(tokens.getToken())).toMatchObject({ status: 500 });
    expect(service.to(TOKEN)).toHaveLength(before + 1);
  }
  // Half of 2, 4, 8 … 60 s, for the random number is always one half.
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});
