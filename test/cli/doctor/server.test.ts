/** What `doctor` says of a mirror by how its listeners answer. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkServer } from '../../../src/cli/doctor/server.ts';
import { loadServeConfig } from '../../../src/config/config.ts';
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

function followerAt(port: number) {
  const folder = temporaryFolder();
  return loadServeConfig({
    env: {
      DATABASE_PATH: join(folder, 'mirror.db'),
      OPS_PORT: String(port),
      LOG_URL: 'http://primary.invalid:8788',
    },
    cwd: folder,
    readFile: () => {
      throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    },
  });
}

test('a copy that waits for its snapshot runs, and says what it waits for', async () => {
  const why = 'http://primary.invalid:8788 cannot be reached: ENOTFOUND';
  const port = await answering(503, { error: 'unavailable', error_description: why });
  const checks = await checkServer(followerAt(port));
  expect(checks.map(({ name, status }) => [name, status])).toEqual([
    ['server', 'ok'],
    ['private listener', 'warn'],
  ]);
  expect(checks[1]?.message).toContain(why);
});

test.each([
  ['a program', 503, { error: 'down' }],
  ['a mirror', 200, { state: 'live' }],
])('%s at its port, while it does not run, is another one', async (_what, status, body) => {
  const checks = await checkServer(followerAt(await answering(status, body)));
  expect(checks.map(({ name, status: result }) => [name, result])).toEqual([
    ['server', 'warn'],
    ['private listener', 'fail'],
  ]);
  expect(checks[1]?.message).toContain('another program, or another mirror');
});
