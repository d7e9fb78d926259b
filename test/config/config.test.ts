import { readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  ConfigError,
  SETTABLE_NAMES,
  formatConfigError,
  loadConfig,
  loadLocalConfig,
  type Config,
} from '../../src/config/config.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

type Env = Record<string, string | undefined>;
/** Text by path; an Error is thrown by the read. */
type Files = Record<string, string | Error>;

const REQUIRED = {
  SERVICE_BASE_URL: 'https://service.example',
  SERVICE_CLIENT_ID: 'client',
  SERVICE_CLIENT_SECRET: 's3cret-client',
  SERVICE_WEBHOOK_SECRET: 's3cret-webhook',
};
const TOKEN = '0123456789abcdef';

function sourcesOf(env: Env, files: Files) {
  const readFile = (path: string): string => {
    const content = files[path] ?? fileError('ENOENT');
    if (typeof content === 'string') return content;
    throw content;
  };
  return { env, cwd: '/app', readFile };
}

const load = (env: Env, files: Files = {}): Config => loadConfig(sourcesOf(env, files));
const loadLocal = (env: Env, files: Files = {}) => loadLocalConfig(sourcesOf(env, files));

function fileError(code: string): Error {
  return Object.assign(new Error(`${code}: s3cret should not be quoted`), { code });
}

function problemsOf(env: Env, files: Files = {}): string[] {
  return errorOf(env, files).problems.map(({ name, problem }) => `${name} ${problem}`);
}

function errorOf(env: Env, files: Files = {}): ConfigError {
  try {
    load(env, files);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

it('follows links to a database that does not exist yet', () => {
  const folder = realpathSync(temporaryFolder());
  const [link, file] = [join(folder, 'link.db'), join(folder, 'mirror.db')];
  symlinkSync('mirror.db', link);
  const path = () => load({ ...REQUIRED, DATABASE_PATH: link }).database.path;
  expect(path()).toBe(file);
  writeFileSync(file, '');
  expect(path()).toBe(file);
});

describe('without the settings of the store', () => {
  it('accepts none of them', () => {
    const local = loadLocal({ DATABASE_PATH: '/data/mirror.db', OPS_PORT: '9000' });
    expect(local.database.path).toBe('/data/mirror.db');
    expect(local.ops).toMatchObject({ port: 9000, token: null });
  });

  it('ignores unreadable secrets and an unused listener', () => {
    const env = { SERVICE_CLIENT_SECRET_FILE: '/secret', OPS_TOKEN_FILE: '/token', OPS_HOST: '10.0.0.1' };
    const denied = fileError('EACCES');
    const files = { '/secret': denied, '/token': denied, '/app/.env': denied };
    expect(loadLocal(env, files).ops).toMatchObject({ host: '10.0.0.1', token: null });
  });

  it('reports all problems at once when something is wrong', () => {
    expect(() => loadLocal({ DATABASE_PATH: ':memory:', SERVICE_MAX_RPS: 'x' })).toThrow(
      /SERVICE_BASE_URL is missing; .*; SERVICE_MAX_RPS is "x"[^;]*; DATABASE_PATH is ":memory:"[^;]*$/,
    );
  });
});

describe('defaults', () => {
  it('fills in every optional setting', () => {
    const config = load(REQUIRED);
    expect(JSON.parse(JSON.stringify(config))).toEqual({
      service: {
        baseUrl: 'https://service.example',
        clientId: 'client',
        clientSecret: '[secret]',
        webhookSecrets: ['[secret]'],
        maxConcurrency: 8,
        maxRps: 50,
      },
      database: { path: '/app/data/stock-mirror.db' },
      webhook: { host: '127.0.0.1', port: 8787 },
      ops: { host: '127.0.0.1', port: 8788, token: null, readToken: null },
      schedules: {
        reconcileCron: '*/15 * * * *',
        verifyWithinHours: 2,
        resyncCron: '0 3 * * *',
        timezone: null,
      },
      warehouseNames: {},
      retentionDays: 30,
      alerts: { url: null, pingUrl: null },
      stream: null,
      role: 'both',
      command: null,
      logLevel: 'info',
      logFormat: null,
      journalStream: null,
      warnings: [],
    });
    expect(config.service.clientSecret.reveal()).toBe('s3cret-client');
  });

  it('treats an empty optional variable as unset', () => {
    const empty = Object.fromEntries(SETTABLE_NAMES.map((name) => [name, '']));
    expect(JSON.stringify(load({ ...empty, ...REQUIRED }))).toBe(JSON.stringify(load(REQUIRED)));
  });
});

it.each<[env: Env, pick: (config: Config) => unknown, expected: unknown]>([
  [{ SERVICE_BASE_URL: 'https://service.example/' }, (c) => c.service.baseUrl, 'https://service.example'],
  [{ SERVICE_BASE_URL: 'http://h:81/a/b//' }, (c) => c.service.baseUrl, 'http://h:81/a/b'],
  [{ DATABASE_PATH: 'm.db' }, (c) => c.database.path, '/app/m.db'],
  [{ HOST: '0.0.0.0', PORT: '80' }, (c) => c.webhook, { host: '0.0.0.0', port: 80 }],
  [{ HOST: 'mirror.internal', PORT: '65535' }, (c) => c.webhook, { host: 'mirror.internal', port: 65535 }],
  [{ HOST: '::', PORT: '0' }, (c) => c.webhook, { host: '::', port: 0 }],
  [{ OPS_HOST: '::1' }, (c) => c.ops.host, '::1'],
  [{ OPS_HOST: 'localhost' }, (c) => c.ops.host, 'localhost'],
  [{ OPS_HOST: '0.0.0.0', OPS_TOKEN: TOKEN }, (c) => c.ops.token?.reveal(), TOKEN],
  [{ OPS_TOKEN: `full-${TOKEN}`, OPS_READ_TOKEN: TOKEN }, (c) => c.ops.readToken?.reveal(), TOKEN],
  [{ PORT: '0', OPS_PORT: '0' }, (c) => [c.webhook.port, c.ops.port], [0, 0]],
  [{ RECONCILE_CRON: 'off', RESYNC_CRON: 'OFF' }, (c) => c.schedules.reconcileCron, null],
  [{ TZ: 'asia/bangkok' }, (c) => c.schedules.timezone, 'Asia/Bangkok'],
  [{ TZ: ':Europe/Berlin' }, (c) => c.schedules.timezone, 'Europe/Berlin'],
  [{ TZ: '' }, (c) => c.schedules.timezone, null],
  [{ RECONCILE_CRON: '@hourly' }, (c) => c.schedules.reconcileCron, '@hourly'],
  [{ RECONCILE_CRON: '30 */2 * * *' }, (c) => c.schedules.reconcileCron, '30 */2 * * *'],
  [{ RECONCILE_CRON: '0 9 * * 1-5', VERIFY_WITHIN_HOURS: '72' }, (c) => c.schedules.verifyWithinHours, 72],
  [
    { WAREHOUSE_NAMES: ' 11=Bangkok, 12 = Chiang Mai,0=a=b' },
    (c) => [...c.warehouseNames],
    [
      ['11', 'Bangkok'],
      ['12', 'Chiang Mai'],
      ['0', 'a=b'],
    ],
  ],
  [{ SERVICE_MAX_CONCURRENCY: '256' }, (c) => c.service.maxConcurrency, 256],
  [
    {
      STREAM_URL: 'tls://a:4222, tls://b',
      STREAM_USER: 'u',
      STREAM_PASSWORD: 'p',
      STREAM_CA_FILE: 'ca.pem',
      ROLE: 'mirror',
    },
    ({ stream, role }) => [stream?.servers, stream?.name, stream?.password?.reveal(), stream?.caFile, role],
    [['tls://a:4222', 'tls://b'], 'stock-mirror', 'p', '/app/ca.pem', 'mirror'],
  ],
  [{ LOG_LEVEL: 'silent' }, (c) => c.logLevel, 'silent'],
  [
    { SERVICE_WEBHOOK_SECRET_PREVIOUS: 'old' },
    (c) => c.service.webhookSecrets.map((secret) => secret.reveal()),
    ['s3cret-webhook', 'old'],
  ],
])('accepted values: %o', (env, pick, expected) => {
  expect(pick(load({ ...REQUIRED, ...env }))).toEqual(expected);
});

describe('refused values', () => {
  it.each<[env: Env, problem: string]>([
    [{ SERVICE_BASE_URL: undefined }, 'SERVICE_BASE_URL is missing'],
    [{ SERVICE_CLIENT_ID: '' }, 'SERVICE_CLIENT_ID is missing'],
    [
      { OPS_HOST: '0.0.0.0' },
      'OPS_TOKEN is missing, and OPS_HOST 0.0.0.0 can be reached from other machines',
    ],
    [{ OPS_READ_TOKEN: TOKEN }, 'OPS_TOKEN is missing, and OPS_READ_TOKEN protects nothing without it'],
    [{ OPS_TOKEN: TOKEN, OPS_READ_TOKEN: TOKEN }, 'OPS_READ_TOKEN equals OPS_TOKEN, so it allows everything'],
    [{ PORT: '8788', HOST: '0.0.0.0' }, 'OPS_PORT is 8788, which PORT already uses'],
    [{ STREAM_USER: 'u' }, 'STREAM_PASSWORD is missing: user and password are set together'],
    [{ STREAM_PASSWORD: 'p' }, 'STREAM_USER is missing: user and password are set together'],
    [{ PORT: '65536' }, 'PORT is "65536", not a whole number from 0 to 65535'],
    [
      { RESYNC_CRON: '61 * * * *' },
      'RESYNC_CRON is "61 * * * *", not minute hour day month weekday, such as */15 * * * *, or off',
    ],
    [{ TZ: 'Asia/Bangkk' }, 'TZ is "Asia/Bangkk", not the name of a time zone, such as Asia/Bangkok or UTC'],
    // The system takes it for seven hours behind UTC.
    [{ TZ: 'GMT+7' }, 'TZ is "GMT+7", not the name of a time zone, such as Asia/Bangkok or UTC'],
    [
      { RECONCILE_CRON: '0 3 * * *' },
      'RECONCILE_CRON is "0 3 * * *", which pauses for longer than VERIFY_WITHIN_HOURS=2',
    ],
    [
      { RECONCILE_CRON: '*/5 * * * 1-6', VERIFY_WITHIN_HOURS: '23' },
      'RECONCILE_CRON is "*/5 * * * 1-6", which pauses for longer than VERIFY_WITHIN_HOURS=23',
    ],
  ])('%o', (env, problem) => {
    expect(problemsOf({ ...REQUIRED, ...env })).toEqual([problem]);
  });

  it.each<[name: string, ...texts: string[]]>([
    ['SERVICE_CLIENT_ID', '  '],
    ['SERVICE_CLIENT_SECRET', ' \n'],
    ['SERVICE_BASE_URL', 'service.example', 'localhost:8790', 'http://', 'ftp://service.example'],
    ['SERVICE_BASE_URL', 'https://u:p@service.example', 'https://u@service.example'],
    ['SERVICE_BASE_URL', 'https://service.example?a=1', 'https://h.example/?', 'https://h.example/#'],
    ['DATABASE_PATH', '  ', 'a\0b', ':memory:', 'file:m.db', './data/', '..'],
    ['HOST', '*', '[::1]', '127.0.0.1:80', 'a b'],
    ['OPS_PORT', '-1', '80 ', '0x50'],
    ['OPS_TOKEN', TOKEN.slice(1), `${TOKEN} x`, `${TOKEN}é`],
    ['RECONCILE_CRON', '* * *', '0 0 30 2 *', '*/5 * * * * *', '2099-01-01T00:00:00'],
    ['WAREHOUSE_NAMES', '11=Bangkok,Chiang Mai', '11=A,', 'BKK=Bangkok', '11= ', '11=A,11=B', '11=a\u0007'],
    ['WAREHOUSE_NAMES', `11=${'x'.repeat(61)}`],
    ['SERVICE_MAX_CONCURRENCY', '0', '257', '1.5'],
    ['SERVICE_MAX_RPS', '0', '10001', '1e3'],
    ['RETENTION_DAYS', '0', '3651'],
    ['STREAM_URL', 'localhost:4222', 'nats://u:p@host', 'nats://a,', 'http://a'],
    ['STREAM_NAME', 'a.b', 'x'.repeat(65)],
    ['ROLE', 'leader'],
    ['LOG_LEVEL', 'INFO'],
  ])('%s', (name, ...texts) => {
    for (const text of texts) {
      expect(problemsOf({ ...REQUIRED, [name]: text })).toEqual([
        expect.stringMatching(new RegExp(`^${name} is .*not `, 's')),
      ]);
    }
  });
});

describe('secrets from files', () => {
  const { SERVICE_CLIENT_SECRET: _, ...rest } = REQUIRED;
  const env = { ...rest, SERVICE_CLIENT_SECRET_FILE: 'secret.txt' };

  it.each<[written: string, value: string]>([
    ['abc', 'abc'],
    ['abc\n', 'abc'],
    ['abc\r\n', 'abc'],
    ['abc\n\n', 'abc\n'],
    ['abc\r', 'abc\r'],
    [' abc \n', ' abc '],
    ['\uFEFFabc\r\n', 'abc'],
  ])('%j gives %j', (written, value) => {
    expect(load(env, { '/app/secret.txt': written }).service.clientSecret.reveal()).toBe(value);
  });

  it.each<[content: string | Error, problem: string]>([
    ['', 'names /app/secret.txt, which is empty'],
    ['\n', 'names /app/secret.txt, which is empty'],
    ['a\uFFFDb', 'names /app/secret.txt, which is not UTF-8 text'],
    [fileError('ENOENT'), 'names /app/secret.txt, which cannot be read (ENOENT)'],
    [fileError('EACCES'), 'names /app/secret.txt, which cannot be read (EACCES)'],
  ])('%j is refused', (content, problem) => {
    expect(problemsOf(env, { '/app/secret.txt': content })).toEqual([
      `SERVICE_CLIENT_SECRET_FILE ${problem}`,
    ]);
  });

  it('refuses both forms at once', () => {
    expect(problemsOf({ ...env, SERVICE_CLIENT_SECRET: 'x' }, { '/app/secret.txt': 'y' })).toEqual([
      'SERVICE_CLIENT_SECRET and SERVICE_CLIENT_SECRET_FILE are both set',
    ]);
  });

  it('does not report a token as missing whose file cannot be read', () => {
    expect(problemsOf({ ...REQUIRED, OPS_HOST: '0.0.0.0', OPS_TOKEN_FILE: '/nowhere' })).toEqual([
      'OPS_TOKEN_FILE names /nowhere, which cannot be read (ENOENT)',
    ]);
  });
});

describe('.env', () => {
  const all = Object.entries(REQUIRED).map(([name, value]) => `${name}=${value}`);

  it('is read when present', () => {
    const text = [...all, '# a comment', '', 'export RETENTION_DAYS="7" # days', "LOG_LEVEL='warn'"].join(
      '\r\n',
    );
    const config = load({}, { '/app/.env': `\uFEFF${text}` });
    expect(config).toMatchObject({ retentionDays: 7, logLevel: 'warn' });
    expect(config.service.baseUrl).toBe('https://service.example');
  });

  it('yields to the real environment, even to an empty variable', () => {
    const dotenv = { '/app/.env': [...all, 'RETENTION_DAYS=7', 'LOG_LEVEL=warn'].join('\n') };
    expect(load({ LOG_LEVEL: 'debug', RETENTION_DAYS: '' }, dotenv)).toMatchObject({
      logLevel: 'debug',
      retentionDays: 30,
    });
  });

  it('is reported if it cannot be read', () => {
    expect(problemsOf(REQUIRED, { '/app/.env': fileError('EACCES') })).toEqual([
      '/app/.env cannot be read (EACCES)',
    ]);
  });
});

describe('the error', () => {
  it('lists everything that is wrong, with its remedy', () => {
    const error = errorOf({ PORT: 'x', OPS_HOST: '0.0.0.0' }, { '/app/.env': fileError('EIO') });
    expect(error.problems.map(({ name }) => name)).toEqual([
      '/app/.env',
      'SERVICE_BASE_URL',
      'SERVICE_CLIENT_ID',
      'SERVICE_CLIENT_SECRET',
      'SERVICE_WEBHOOK_SECRET',
      'PORT',
      'OPS_TOKEN',
    ]);
    const text = formatConfigError(error);
    expect(text.startsWith('The configuration has 7 problems:\n')).toBe(true);
    for (const { name, problem, remedy } of error.problems) {
      expect(text).toContain(`  ${name} ${problem}\n    ${remedy}\n`);
    }
  });

  it('never holds the value of a secret', () => {
    const leaky = {
      SERVICE_BASE_URL: 'https://s3cret:s3cret@h?s3cret#s3cret',
      SERVICE_CLIENT_ID: 'ok',
      SERVICE_CLIENT_SECRET: 's3cret',
      SERVICE_CLIENT_SECRET_FILE: '/run/x',
      SERVICE_WEBHOOK_SECRETS: 's3cret',
      SERVICE_WEBHOOK_SECRET_FILE: '/run/denied',
      OPS_TOKEN: 's3cret',
    };
    const error = errorOf(leaky, { '/app/.env': 's3cret', '/run/denied': fileError('EACCES') });
    expect(error.problems.length).toBeGreaterThanOrEqual(4);
    expect(formatConfigError(error) + inspect(error) + error.message).not.toContain('s3cret');
  });
});

it('shows no secret when the configuration is printed', () => {
  const config = load({
    ...REQUIRED,
    OPS_TOKEN: 's3cret-0123456789',
    SERVICE_WEBHOOK_SECRET_PREVIOUS: 's3cret-old',
  });
  expect(inspect(config, { depth: null, showHidden: true }) + JSON.stringify(config)).not.toContain('s3cret');
});

const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');

it('.env.example is a working configuration for the sandbox', () => {
  const { baseUrl, clientId, clientSecret, webhookSecrets } = load({}, { '/app/.env': text }).service;
  expect([baseUrl, clientId]).toEqual(['http://127.0.0.1:8790', 'sandbox-client']);
  const secrets = [clientSecret, ...webhookSecrets].map((secret) => secret.reveal());
  expect(secrets).toEqual(['sandbox-secret', 'sandbox-webhook-secret']);
});

describe('passed sockets', () => {
  const LISTEN_PID = String(process.pid);
  const passed = (env: Env): Config =>
    loadConfig({ env: { ...REQUIRED, LISTEN_PID, ...env }, cwd: '/nowhere' });

  it('are found by name, from descriptor 3 on', () => {
    const { webhook, ops } = passed({ LISTEN_FDS: '2', LISTEN_FDNAMES: 'ops:webhooks' });
    expect({ webhook: webhook.fd, ops: ops.fd }).toEqual({ webhook: 4, ops: 3 });
  });

  it.each<Env>([
    { LISTEN_FDS: '1', LISTEN_FDNAMES: 'stock-mirror.socket' },
    { LISTEN_FDS: '1' },
    { LISTEN_FDS: '2', LISTEN_FDNAMES: 'webhooks:webhooks' },
    { LISTEN_FDS: 'x', LISTEN_FDNAMES: 'webhooks' },
    { LISTEN_FDNAMES: 'webhooks' },
  ])('refuses %o', (env) => {
    expect(() => passed(env)).toThrow(/each socket is either webhooks or ops, once/);
  });

  it('are not used, and named in a warning, if they were passed to a wrapper', () => {
    const { webhook, warnings } = passed({
      LISTEN_PID: '1',
      LISTEN_FDS: '1',
      LISTEN_FDNAMES: 'webhooks',
    });
    expect(webhook.fd).toBeUndefined();
    expect(warnings.map(({ name, problem }) => `${name} ${problem}`)).toEqual([
      expect.stringContaining('LISTEN_PID is "1", the id of another process'),
    ]);
  });
});

const warningsOf = (env: Env, files: Files = {}): string[] =>
  load({ ...REQUIRED, ...env }, files).warnings.map(({ name, problem }) => `${name} ${problem}`);

it.each(['"s3cret"', "'s3cret'", 's3cret\r', 's3cret ', 's3\ncret', 's3cr\uFFFDt'])(
  'suspicious values warns of %j',
  (secret) => {
    const [warning, ...more] = warningsOf({ SERVICE_WEBHOOK_SECRET: secret });
    expect(warning).toMatch(/^SERVICE_WEBHOOK_SECRET (?:begins|contains)/);
    expect(warning).not.toContain('s3c');
    expect(more).toEqual([]);
  },
);
