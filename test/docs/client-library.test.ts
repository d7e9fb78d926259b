/** docs/client-library.md has every function, option and kind of error, and its programs compile and run. */
import { execFile, spawn } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import * as client from '../../src/client.ts';
import type { ClientOptions, HttpLimits, RetryPolicy, ServiceErrorKind } from '../../src/client.ts';
import * as library from '../../src/index.ts';
import type { ServiceConnectionOptions } from '../../src/index.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/store-api/retry.ts';
import { present } from '../shared/present.ts';
import { SECRET, temporaryFolder } from '../store-api/connection.ts';
import { programIn, runProgram } from '../store-api/documented-program.ts';
import { sendError, sendJson, startStubService } from '../store-api/stub-service.ts';
import { blocksOf, codeIn, documentAt, ROOT, sectionOf, tablesOf } from './blocks.ts';

const DOCUMENT = documentAt('docs/client-library.md');

/** The names in the first column of a table. */
const namesIn = (heading: string, nth = 0): string[] =>
  present(tablesOf(sectionOf(DOCUMENT, heading))[nth]).rows.map(([name = '']) => present(codeIn(name)[0]));

/** Whatever is added to the type is missing here, and does not compile. */
const keysOf = <K extends string>(names: Readonly<Record<K, true>>): string[] => Object.keys(names);

const CLIENT_OPTIONS = keysOf<keyof ClientOptions>({
  baseUrl: true,
  clientId: true,
  clientSecret: true,
  tokenFilePath: true,
  maxConcurrency: true,
  retry: true,
  limits: true,
  onTokenFileError: true,
});
const CONNECTION_OPTIONS = keysOf<keyof ServiceConnectionOptions>({
  baseUrl: true,
  clientId: true,
  clientSecret: true,
  tokenFilePath: true,
  maxConcurrency: true,
  onTokenFileError: true,
  onAnswer: true,
  limits: true,
  now: true,
});
const RETRY = keysOf<keyof RetryPolicy>({ attempts: true, baseMs: true, capMs: true, maxWaitMs: true });
const LIMITS = keysOf<keyof HttpLimits>({
  connectTimeoutMs: true,
  headersTimeoutMs: true,
  bodyTimeoutMs: true,
  deadlineMs: true,
  maxAnswerBytes: true,
});
const KINDS = keysOf<ServiceErrorKind>({
  rejected: true,
  unavailable: true,
  rate_limited: true,
  unauthorized: true,
  credentials: true,
  contract: true,
  aborted: true,
});

test('every export is named', () => {
  expect(Object.keys(client).toSorted()).toEqual(['ServiceError', 'createClient', 'shippingTypes']);
  expect(Object.keys(library).toSorted()).toEqual([
    'ServiceError',
    'connectService',
    'signBody',
    'verifySignature',
  ]);
  const named = codeIn(DOCUMENT).map((code) => code.replace(/\(.*$/, ''));
  for (const name of [...Object.keys(client), ...Object.keys(library)]) expect(named).toContain(name);
});

test('every function of the client is there', async () => {
  const made = client.createClient({
    baseUrl: 'http://127.0.0.1:1',
    clientId: 'a',
    clientSecret: 'b',
    tokenFilePath: join(temporaryFolder(), 'token.json'),
  });
  await made.close();
  const documented = namesIn('Functions').map((code) => code.replace(/\(.*$/, ''));
  expect(documented.toSorted()).toEqual(Object.keys(made).toSorted());
});

test('every option, limit, kind and field of an error is there', () => {
  expect(namesIn('createClient')).toEqual(CLIENT_OPTIONS);
  expect(namesIn('connectService')).toEqual(CONNECTION_OPTIONS);
  expect(namesIn('Retries')).toEqual(RETRY);
  expect(namesIn('Limits')).toEqual(LIMITS);
  expect(namesIn('Errors')).toEqual(KINDS);
  const error = new client.ServiceError({ kind: 'aborted', endpoint: '/v1', description: 'x' });
  const fields = Object.keys(error).filter((name) => name !== 'name');
  expect(namesIn('Errors', 1).toSorted()).toEqual([...fields, 'message'].toSorted());
});

/** The second column as numbers. */
const defaultsIn = (heading: string): Record<string, number> =>
  Object.fromEntries(
    present(tablesOf(sectionOf(DOCUMENT, heading))[0]).rows.map(([name = '', usual = '']) => [
      present(codeIn(name)[0]),
      Number(usual),
    ]),
  );

/** The figures of a constant that a source file keeps to itself: `a: 5_000,`, `b: 16 * 1024,`. */
function figuresIn(file: string, name: string): Record<string, number> {
  const [, text = ''] =
    new RegExp(`const ${name}[^=]*= \\{([^}]*)\\}`).exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
  const pairs = [...text.matchAll(/(\w+): ([\d_ *]+),/g)];
  const product = (figures: string) =>
    figures.split('*').reduce((result, figure) => result * Number(figure.replaceAll('_', '')), 1);
  return Object.fromEntries(pairs.map(([, key, figures = '']) => [present(key), product(figures)]));
}

test('the defaults are those of the code', () => {
  expect(defaultsIn('Retries')).toEqual(DEFAULT_RETRY_POLICY);
  expect(defaultsIn('Limits')).toEqual(figuresIn('src/store-api/transport/http.ts', 'DEFAULT_LIMITS'));
  const concurrency = present(tablesOf(sectionOf(DOCUMENT, 'createClient'))[0]).rows.find(
    ([name]) => name === '`maxConcurrency`',
  );
  expect(readFileSync(join(ROOT, 'src/client.ts'), 'utf8')).toContain(
    `const DEFAULT_MAX_CONCURRENCY = ${present(concurrency)[2]};`,
  );
});

test('the packed file has the name of this version', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const named = new Set([...DOCUMENT.matchAll(/stock-mirror-(\d+\.\d+\.\d+)\.tgz/g)].map(([, each]) => each));
  expect([...named]).toEqual([version]);
});

test('the programs compile against the package’s types', { timeout: 120_000 }, async () => {
  const folder = temporaryFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [nth, { text }] of blocksOf(DOCUMENT, 'ts').entries())
    writeFileSync(join(folder, `${nth}.mts`), text);
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: true,
      // As a partner's own may be: none of the rules that only this repository keeps.
      noPropertyAccessFromIndexSignature: false,
      paths: {
        'stock-mirror/client': [join(ROOT, 'src/client.ts')],
        'stock-mirror': [join(ROOT, 'src/index.ts')],
      },
    },
    include: ['*.mts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const compiling = promisify(execFile)(process.execPath, [compiler, '-p', folder]);
  const { stdout } = await compiling.catch((error: unknown) => error as { stdout: string });
  expect(stdout).toBe('');
});

test('the program of the errors lists every product, and says what went wrong', async () => {
  const folder = temporaryFolder();
  const service = await startStubService();
  service.answer('/v1/product/list', (response) =>
    sendJson(response, 200, { products: [{ id: '1', name: 'Lamp' }], has_more: false }),
  );
  const path = programIn(folder, 'isTemporary');
  const env = {
    SERVICE_BASE_URL: service.baseUrl,
    SERVICE_CLIENT_ID: 'client-7',
    SERVICE_CLIENT_SECRET: SECRET,
  };
  expect(await runProgram(path, folder, env)).toBe('1 Lamp\n');

  service.answer('/v1/product/list', (response) => sendError(response, 403, 'access_denied'));
  const failed = (await runProgram(path, folder, env).catch((error: unknown) => error)) as {
    code: number;
    stderr: string;
  };
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(/^rejected access_denied \/v1\/product\/list failed: 403/);
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test.each([
  ['node:http', 'createServer'],
  ['Hono', 'new Hono()'],
])('the receiver with %s takes what is signed, and nothing else', async (_name, part) => {
  const port = String(await freePort());
  const env = { PORT: port, SERVICE_WEBHOOK_SECRET: SECRET };
  const folder = temporaryFolder();
  const receiver = spawn(process.execPath, [programIn(folder, part)], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void receiver.kill('SIGKILL'));
  let printed = '';
  receiver.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await expect.poll(() => printed, { timeout: 10_000 }).toContain('listening');

  const sending = temporaryFolder();
  const sender = programIn(sending, 'signBody(');
  expect(await runProgram(sender, sending, env)).toBe('204\n');
  expect(await runProgram(sender, sending, { ...env, SERVICE_WEBHOOK_SECRET: 'another' })).toBe('401\n');
  const unsigned = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body: '{}' });
  expect(unsigned.status).toBe(401);
  expect(printed.match(/stored/g)).toHaveLength(1);
});
