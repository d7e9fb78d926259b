import { describe, expect, test } from 'vitest';
import { clientOf, manualTime, reply, requestToken, sandboxFor, tokenOf } from './harness.ts';

const list = async (baseUrl: string, authorization?: string) =>
  reply(
    await fetch(`${baseUrl}/v1/product/list`, {
      method: 'POST',
      headers: authorization === undefined ? {} : { authorization },
    }),
  );

describe('POST /oauth/token', () => {
  test('issues a bearer token for four hours, never the same twice', async () => {
    const sandbox = await sandboxFor();
    const [first, second] = [await requestToken(sandbox), await requestToken(sandbox)];

    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 14_400,
    });
    expect(second.body['access_token']).not.toBe(first.body['access_token']);
    expect(first.headers.get('x-request-id')).toBeTruthy();
  });

  test('refuses another grant type with unsupported_grant_type', async () => {
    const sandbox = await sandboxFor();
    const { status, body } = await requestToken(sandbox, { grant_type: 'password' });
    expect([status, body['error']]).toEqual([400, 'unsupported_grant_type']);
  });

  test('answers unknown client, wrong secret and expired channel alike', async () => {
    const sandbox = await sandboxFor();
    const unknown = await requestToken(sandbox, { client_id: 'nobody' });
    const wrong = await requestToken(sandbox, { client_secret: 'nothing' });
    sandbox.oauth.channelExpired = true;
    const expired = await requestToken(sandbox);

    for (const answer of [unknown, wrong, expired]) {
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual(unknown.body);
    }
    expect(unknown.body['error']).toBe('invalid_client');
  });

  test('takes credentials from a form body only', async () => {
    const sandbox = await sandboxFor();
    const url = `${sandbox.baseUrl}/oauth/token`;
    const credentials = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
    const json = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'client_credentials', ...credentials }),
    });
    const basic = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${sandbox.clientId}:${sandbox.clientSecret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const unknownField = await requestToken(sandbox, { audience: 'x' });

    expect([json.status, (await reply(json)).body['error']]).toEqual([400, 'invalid_request']);
    const basicReply = await reply(basic);
    expect([basicReply.status, basicReply.body['error']]).toEqual([400, 'invalid_request']);
    expect(basicReply.body['error_description']).toContain('client_id');
    expect(unknownField.body['error_description']).toContain('audience');
  });

  test('allows ten requests a minute per client id', async () => {
    const time = manualTime();
    const sandbox = await sandboxFor({ now: time.now, timers: time.timers });
    for (let i = 0; i < 10; i += 1) expect((await requestToken(sandbox)).status).toBe(200);

    time.advance(20_500);
    const refused = await requestToken(sandbox);
    expect([refused.status, refused.body['error']]).toEqual([429, 'slow_down']);
    expect(refused.headers.get('retry-after')).toBe('40');

    time.advance(39_500);
    expect((await requestToken(sandbox)).status).toBe(200);
  });

  test('allows sixty requests a minute per address', async () => {
    const time = manualTime();
    const sandbox = await sandboxFor({ now: time.now, timers: time.timers });
    for (let i = 0; i < 60; i += 1) {
      const { status } = await requestToken(sandbox, { client_id: `c${i}`, grant_type: 'password' });
      expect(status).toBe(400);
    }
    expect((await requestToken(sandbox)).status).toBe(429);
    time.advance(60_000);
    expect((await requestToken(sandbox)).status).toBe(200);
  });

  test('blocks client id and address for fifteen minutes after ten failures in five minutes', async () => {
    const time = manualTime();
    const sandbox = await sandboxFor({ now: time.now, timers: time.timers });
    for (let i = 0; i < 10; i += 1) {
      expect((await requestToken(sandbox, { client_secret: 'wrong' })).status).toBe(401);
      time.advance(20_000);
    }
    const blocked = await requestToken(sandbox);
    expect([blocked.status, blocked.body['error']]).toEqual([429, 'slow_down']);
    expect(Number(blocked.headers.get('retry-after'))).toBe(15 * 60 - 20);

    time.advance(15 * 60_000 - 20_001);
    expect((await requestToken(sandbox)).status).toBe(429);
    time.advance(1);
    expect((await requestToken(sandbox)).status).toBe(200);
  });

  test('does not block when ten failures take longer than five minutes', async () => {
    const time = manualTime();
    const sandbox = await sandboxFor({ now: time.now, timers: time.timers });
    for (let i = 0; i < 12; i += 1) {
      expect((await requestToken(sandbox, { client_secret: 'wrong' })).status).toBe(401);
      time.advance(35_000);
    }
    expect((await requestToken(sandbox)).status).toBe(200);
  });

  test('keeps a replaced secret valid for another 24 hours', async () => {
    const time = manualTime();
    const sandbox = await sandboxFor({ now: time.now, timers: time.timers });
    const old = sandbox.clientSecret;
    const next = sandbox.oauth.replaceSecret();

    expect(sandbox.clientSecret).toBe(next);
    expect((await requestToken(sandbox, { client_secret: next })).status).toBe(200);
    expect((await requestToken(sandbox, { client_secret: old })).status).toBe(200);
    time.advance(24 * 3_600_000);
    expect((await requestToken(sandbox, { client_secret: old })).status).toBe(401);
    expect((await requestToken(sandbox, { client_secret: next })).status).toBe(200);
  });
});

describe('bearer tokens', () => {
  test('a missing, malformed or unknown token answers 401 invalid_token', async () => {
    const sandbox = await sandboxFor();
    const token = await tokenOf(sandbox);
    for (const authorization of [undefined, token, `Basic ${token}`, 'Bearer', 'Bearer nonsense']) {
      const { status, body } = await list(sandbox.baseUrl, authorization);
      expect([status, body['error']]).toEqual([401, 'invalid_token']);
    }
    expect((await list(sandbox.baseUrl, `Bearer ${token}`)).status).toBe(200);
  });

  test('a token ends with its lifetime', async () => {
    const time = manualTime();
    const sandbox = await sandboxFor({ now: time.now, timers: time.timers, tokenLifetimeS: 60 });
    const call = await clientOf(sandbox);
    time.advance(59_999);
    expect((await call('/v1/product/list')).status).toBe(200);
    time.advance(1);
    expect((await call('/v1/product/list')).body['error']).toBe('invalid_token');
  });

  test('all tokens can be expired at once', async () => {
    const sandbox = await sandboxFor();
    const call = await clientOf(sandbox);
    sandbox.oauth.expireAllTokens();
    expect((await call('/v1/product/list')).status).toBe(401);
  });
});
