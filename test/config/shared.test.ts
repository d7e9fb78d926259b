/** The settings of a process that shares its event log with others. */
import { describe, expect, it } from 'vitest';
import { ConfigError, loadServeConfig } from '../../src/config/config.ts';

const STORE = {
  SERVICE_BASE_URL: 'https://service.example',
  SERVICE_CLIENT_ID: 'client',
  SERVICE_CLIENT_SECRET: 's3cret-client',
  SERVICE_WEBHOOK_SECRET: 's3cret-webhook',
};
const ENGINE = { LOG_URL: 'nats://one:4222,nats://two:4222' };
const PRIMARY = { LOG_URL: 'https://primary:8788/' };

function load(env: Readonly<Record<string, string>>, files: Readonly<Record<string, string>> = {}) {
  return loadServeConfig({
    env,
    cwd: '/app',
    readFile: (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
      return text;
    },
  });
}

function problemsOf(env: Readonly<Record<string, string>>): string[] {
  try {
    load(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ name, problem }) => `${name} ${problem}`);
    throw error;
  }
  return [];
}

describe('what a process does', () => {
  it('shares nothing unless it is told through what', () => {
    expect(load({ ...STORE, ROLE: 'receive', LOG_STORE: 'tea' }).shared).toBeNull();
  });

  it('does everything by default, over several servers of an engine', () => {
    const { shared } = load({ ...STORE, ...ENGINE });
    expect(shared).toMatchObject({
      url: { kind: 'engine', urls: ['nats://one:4222', 'nats://two:4222'] },
      store: 'store',
      replicas: 3,
      user: null,
      caFile: null,
    });
    expect([...(shared?.roles ?? [])]).toEqual(['receive', 'replica', 'lead']);
  });

  it('only copies from a primary, whatever its role says', () => {
    const { shared } = load({ ...STORE, ...PRIMARY, ROLE: 'receive,replica,lead', LOG_CA_FILE: 'ca.pem' });
    expect(shared?.url).toEqual({ kind: 'primary', urls: ['https://primary:8788'] });
    expect([...(shared?.roles ?? [])]).toEqual(['replica']);
    expect(shared?.caFile).toBe('/app/ca.pem');
  });

  it('takes credentials from files, and shows none', () => {
    const env = { ...STORE, ...ENGINE, LOG_USER: 'me', LOG_PASSWORD_FILE: '/password' };
    const { shared } = load(env, { '/password': 'hidden\n' });
    expect(shared?.password?.reveal()).toBe('hidden');
    expect(JSON.stringify(shared)).not.toContain('hidden');
  });
});

describe('the token of a primary', () => {
  it.each(['two\nlines-of-a-file', 'an-accent-é', 'a space'])('must fit in a header: %j', (token) => {
    expect(problemsOf({ ...PRIMARY, LOG_TOKEN: token })).toEqual([
      'LOG_TOKEN holds characters other than printable ASCII',
    ]);
    // An engine takes it otherwise.
    expect(problemsOf({ ...STORE, ...ENGINE, LOG_TOKEN: token })).toEqual([]);
  });
});

describe('a process that only copies', () => {
  it.each([
    ['a primary', PRIMARY],
    ['an engine, without leading', { ...ENGINE, ROLE: 'replica' }],
  ])('needs no settings of the store: %s', (_what, env) => {
    expect(load(env)).toMatchObject({ service: null, shared: {} });
    expect(load({ ...env, ...STORE }).service?.clientId).toBe('client');
  });

  it.each([
    ['receives', { ...ENGINE, ROLE: 'receive' }],
    ['may lead', { ...ENGINE, ROLE: 'replica,lead' }],
    ['shares nothing', {}],
  ])('another one needs them: it %s', (_what, env) => {
    expect(problemsOf(env)).toContain('SERVICE_BASE_URL is missing');
  });

  it('is told of settings of the store that are wrong, and of all others', () => {
    expect(problemsOf({ ...PRIMARY, SERVICE_BASE_URL: 'no url' }).join('; ')).toMatch(/SERVICE_BASE_URL/);
    expect(problemsOf({ ...PRIMARY, SERVICE_MAX_RPS: 'many' }).join('; ')).toMatch(/SERVICE_MAX_RPS/);
    expect(problemsOf({ ...PRIMARY, RETENTION_DAYS: 'x' }).join('; ')).toMatch(/RETENTION_DAYS/);
  });

  it('is told of what is wrong alone, and of nothing that it does not need', () => {
    expect(problemsOf({ ...PRIMARY, LOG_TOKEN_FILE: '/run/none' })).toEqual([
      expect.stringContaining('LOG_TOKEN_FILE'),
    ]);
  });
});

describe('values that are refused', () => {
  it.each([
    [{ LOG_URL: 'one:4222' }, /^LOG_URL /],
    [{ LOG_URL: 'nats://me:secret@one' }, /^LOG_URL holds credentials$/],
    [{ LOG_URL: 'https://a,https://b' }, /^LOG_URL names more than one primary$/],
    [{ LOG_URL: 'nats://one,https://two' }, /^LOG_URL names more than one primary$/],
    [{ LOG_URL: 'nats://one?x=1' }, /^LOG_URL has a query/],
    [{ ROLE: 'leader' }, /^ROLE has "leader", not one of receive, replica, lead$/],
    [{ ROLE: 'receive,lead' }, /^ROLE has lead without replica$/],
    [{ ROLE: 'replica,' }, /^ROLE /],
    [{ LOG_STORE: 'a store' }, /^LOG_STORE is "a store", not 1 to 32/],
    [{ LOG_REPLICAS: '2' }, /^LOG_REPLICAS /],
  ])('%j', (env, expected) => {
    const found = problemsOf({ ...STORE, ...ENGINE, ...env });
    expect(found).toEqual([expect.stringMatching(expected)]);
    expect(found.join()).not.toContain('secret');
  });
});
