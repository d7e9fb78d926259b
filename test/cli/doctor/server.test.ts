/** What `doctor` says of a mirror by how its listeners answer. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkServer } from '../../../src/cli/doctor/server.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { temporaryFolder } from '../../mirror/mirror-file.ts';

async function answering(status: number, body: object): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function mirrorAt(port: number) {
  const folder = temporaryFolder();
  return loadConfig({
    env: {
      DATABASE_PATH: join(folder, 'mirror.db'),
      PORT: '0',
      OPS_PORT: String(port),
      SERVICE_BASE_URL: 'http://store.invalid',
      SERVICE_CLIENT_ID: 'id',
      SERVICE_CLIENT_SECRET: 'secret',
      SERVICE_WEBHOOK_SECRET: 'secret',
    },
    cwd: folder,
    readFile: () => {
      throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    },
  });
}

test.each([
  ['a program', 503, { error: 'down' }],
  ['a mirror', 200, { state: 'live' }],
])('%s at its port, while it does not run, is another one', async (_what, status, body) => {
  const checks = await checkServer(mirrorAt(await answering(status, body)));
  expect(checks.map(({ name, status: result }) => [name, result])).toEqual([
    ['server', 'warn'],
    ['webhook listener', 'warn'],
    ['private listener', 'fail'],
  ]);
  expect(checks[2]?.message).toContain('another program, or another mirror');
});
