import { expect } from 'vitest';
import { rule, secondChannel } from './contract.ts';
import { accessToken, errorOf, expectRefused, type Answer, type Raw } from './raw.ts';

const LIST = '/v1/product/list';
const PATHS = [
  '/v1/order/create',
  '/v1/order/detail',
  '/v1/store/address/list',
  LIST,
  '/v1/product/detail',
] as const;
const MINUTE_MS = 60_000;

const wrong = { client_secret: 'wrong' };
const expectSlowDown = (answer: Answer, retryAfterS: number): void => {
  expect(errorOf(answer)).toEqual([429, 'slow_down']);
  expect(answer.headers.get('retry-after')).toBe(String(retryAfterS));
};
const times = async (count: number, ask: (n: number) => Promise<Answer>, status: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) expect((await ask(n)).status).toBe(status);
};
const isAccepted = async (raw: Raw, token: string): Promise<boolean> =>
  (await raw.post(LIST, {}, { token })).status === 200;

rule('token.form', 'refuses a JSON body', async ({ raw, sandbox }) => {
  const credentials = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  const json = JSON.stringify({ grant_type: 'client_credentials', ...credentials });
  expectRefused(await raw.post('/oauth/token', json, { token: null }), 'Content-Type');
  expect((await raw.token()).status).toBe(200);
  expectRefused(await raw.token({ audience: 'x' }), 'audience');
});

rule('token.fields', 'requires each field', async ({ raw }) => {
  for (const field of ['grant_type', 'client_id', 'client_secret']) {
    expectRefused(await raw.token({ [field]: null }), field);
    if (field !== 'grant_type') expectRefused(await raw.token({ [field]: '' }), field);
  }
});

rule('token.basic', 'refuses credentials that only the header has', async ({ raw, sandbox }) => {
  const authorization = `Basic ${btoa(`${sandbox.clientId}:${sandbox.clientSecret}`)}`;
  expectRefused(await raw.token({ client_id: null, client_secret: null }, { authorization }), 'client_id');
  expectRefused(await raw.token({ client_secret: null }, { authorization }), 'client_secret');
  // They do not override wrong ones in the body.
  expect(errorOf(await raw.token(wrong, { authorization }))).toEqual([401, 'invalid_client']);
});

rule(
  ['token.answer.access_token', 'token.answer.token_type', 'token.answer.expires_in'],
  'answers exactly these fields',
  async ({ raw }) => {
    const { status, body } = await raw.token();
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^\S+$/),
      token_type: 'Bearer',
      expires_in: 14_400,
    });
  },
);

rule('token.error.unsupported_grant_type', 'refuses every other grant', async ({ raw }) => {
  for (const grantType of ['password', 'CLIENT_CREDENTIALS', 'refresh_token']) {
    const answer = await raw.token({ grant_type: grantType });
    expect(errorOf(answer)).toEqual([400, 'unsupported_grant_type']);
  }
});

rule(
  'token.error.invalid_client',
  'answers the same for an unknown id, a wrong secret and an expired channel',
  async ({ raw, sandbox }) => {
    const unknown = await raw.token({ client_id: 'nobody' });
    const secret = await raw.token(wrong);
    sandbox.oauth.channelExpired = true;
    const expired = await raw.token();
    for (const answer of [unknown, secret, expired]) {
      expect(errorOf(answer)).toEqual([401, 'invalid_client']);
      expect(answer.body).toEqual(unknown.body);
    }
  },
);

rule('auth.1', 'refuses a call without a token and changes nothing', async ({ raw, lamp, body }) => {
  for (const path of PATHS) {
    expect(errorOf(await raw.post(path, body(), { token: null }))).toEqual([401, 'invalid_token']);
  }
  expect(lamp.levels[0]).toMatchObject({ reserved: 0 });
  expect(await isAccepted(raw, await accessToken(raw))).toBe(true);
});

rule(
  ['auth.3', 'limits.token-lifetime'],
  'expires a token after exactly four hours',
  async ({ raw, advance }) => {
    const token = await accessToken(raw);
    advance(14_400_000 - 1);
    expect(await isAccepted(raw, token)).toBe(true);
    advance(1);
    expect(errorOf(await raw.post(LIST, {}, { token }))).toEqual([401, 'invalid_token']);
  },
);

rule('auth.4', 'refuses a missing, malformed, unknown or expired token', async ({ raw, sandbox }) => {
  const token = await accessToken(raw);
  for (const authorization of [
    '',
    token,
    `Basic ${token}`,
    'Bearer',
    `Bearer ${token} x`,
    `Bearer ${token}x`,
  ]) {
    for (const path of PATHS) {
      const answer = await raw.post(path, {}, { token: null, headers: { authorization } });
      expect([authorization, ...errorOf(answer)]).toEqual([authorization, 401, 'invalid_token']);
    }
  }
  expect(await isAccepted(raw, token)).toBe(true);
  sandbox.oauth.expireAllTokens();
  for (const path of PATHS) {
    expect(errorOf(await raw.post(path, {}, { token }))).toEqual([401, 'invalid_token']);
  }
});

rule(
  ['auth.5.ip', 'limits.token-requests'],
  'allows 60 requests a minute from one address',
  async ({ raw, advance }) => {
    await times(60, (n) => raw.token({ client_id: `c${n}`, grant_type: 'password' }), 400);
    expectSlowDown(await raw.token(), 60);
    advance(MINUTE_MS - 1);
    expectSlowDown(await raw.token(), 1);
    advance(1);
    expect((await raw.token()).status).toBe(200);
  },
);

rule(
  ['auth.5.block', 'limits.failed-authentications'],
  'blocks id and address after ten failures',
  async ({ raw, advance, sandbox }) => {
    const second = secondChannel(sandbox);
    for (let n = 0; n < 10; n += 1) {
      expect((await raw.token(wrong)).status).toBe(401);
      advance(20_000);
    }
    expectSlowDown(await raw.token(), 15 * 60 - 20);
    // From the same address no other id gets a token either.
    expectSlowDown(await raw.token(second), 15 * 60 - 20);
    advance(15 * MINUTE_MS - 20_001);
    expectSlowDown(await raw.token(), 1);
    advance(1);
    expect((await raw.token()).status).toBe(200);
    expect((await raw.token(second)).status).toBe(200);
  },
);
