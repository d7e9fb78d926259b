import { execFile, spawn } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { signBody } from '../../src/store-api/signature.ts';
import { freePort } from '../shared/free-port.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { SECRET } from '../store-api/connection.ts';
import { programIn, runProgram } from '../store-api/documented-program.ts';
import { sendError, sendJson, startStubService } from '../store-api/stub-service.ts';
import { blocksOf, documentAt, ROOT } from './blocks.ts';

const DOCUMENT = documentAt('docs/client-library.md');

test('the programs compile against the package’s types', async () => {
  const folder = temporaryFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const programs = [DOCUMENT, documentAt('docs/feed-client.md')].flatMap((document) =>
    blocksOf(document, 'ts'),
  );
  for (const [nth, { text }] of programs.entries()) writeFileSync(join(folder, `${nth}.mts`), text);
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: true,
      // Partners need not use this repository's stricter rule.
      noPropertyAccessFromIndexSignature: false,
      paths: {
        'stock-mirror/client': [join(ROOT, 'src/client.ts')],
        'stock-mirror/feed': [join(ROOT, 'src/feed.ts')],
        'stock-mirror': [join(ROOT, 'src/client.ts')],
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

test('the program on errors lists every product and names errors', async () => {
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

test('the receiver accepts only signed deliveries', async () => {
  const port = String(await freePort());
  const env = { PORT: port, SERVICE_WEBHOOK_SECRET: SECRET };
  const folder = temporaryFolder();
  const receiver = spawn(process.execPath, [programIn(folder, 'createServer')], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void receiver.kill('SIGKILL'));
  let printed = '';
  receiver.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await expect.poll(() => printed).toContain('listening');
  const item = {
    id: '7',
    sku: 'TS-RED-M',
    old: 3,
    new: 2,
    warehouse_id: '1',
    update_time: 1_790_000_000_000,
  };
  const event = {
    request_id: '1',
    event_type: 'stock_available_updated',
    request_time: 1_790_000_000_000,
    data: { items: [item] },
  };
  const body = new TextEncoder().encode(JSON.stringify(event));
  const statusFor = async (signature: string) => {
    const headers = { 'X-Service-Signature': signature };
    return (await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body })).status;
  };
  expect(await statusFor(signBody(SECRET, body))).toBe(204);
  expect(await statusFor(signBody('another', body))).toBe(401);
  expect(await statusFor('')).toBe(401);
  expect(printed.match(/TS-RED-M 1 2/g)).toHaveLength(1);
});
