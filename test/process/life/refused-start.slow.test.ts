import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { environmentFor, spawnMirror, startBoth, statusOf, temporaryFolder } from '../harness.ts';

const NO_STORE = {
  baseUrl: 'http://127.0.0.1:1',
  clientId: 'a',
  clientSecret: 'b',
  webhookSecret: 'whsec_c',
};

test.concurrent('names a port in use and does not count the failed start as listening', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const other = await startBoth(t);
  await other.mirror.stop();
  const { alive_at: aliveAt } = statusOf(other.mirror.databasePath);

  const taken = new URL(mirror.webhookUrl).port;
  const env = { ...environmentFor(sandbox, other.mirror.databasePath), PORT: taken };
  const second = spawnMirror(t, env, dirname(other.mirror.databasePath));
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.stderr).toMatch(new RegExp(`127\\.0\\.0\\.1:${taken}: .* set another PORT\\b`));
  expect(statusOf(other.mirror.databasePath).alive_at).toBe(aliveAt);
});

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

test.concurrent('refuses a passed private socket that other machines reach without a token', async (t) => {
  const held = createServer((socket) => socket.destroy()).listen(0, '0.0.0.0');
  await once(held, 'listening');
  t.onTestFinished(() => void held.close());
  const { fd } = (held as unknown as { _handle: { fd: number } })._handle;
  const folder = temporaryFolder(t);
  const child = spawn('sh', ['-c', 'LISTEN_PID=$$ exec "$@"', 'sh', process.execPath, MAIN], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      ...environmentFor(NO_STORE, join(folder, 'mirror.db')),
      LISTEN_FDS: '1',
      LISTEN_FDNAMES: 'ops',
    },
    stdio: ['ignore', 'pipe', 'pipe', fd],
  });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => (said[name] += text));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  expect({ code, stderr: said.stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(`0.0.0.0:${(held.address() as AddressInfo).port}`) as string,
  });
  expect(said.stderr).toContain('set OPS_TOKEN');
  expect(said.stderr).not.toContain('    at ');
  expect(said.stdout).not.toContain('listening');
});
