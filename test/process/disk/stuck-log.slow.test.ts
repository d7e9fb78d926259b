/** A hung log reader stops nothing else (docs/architecture.md#durability). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { environmentFor, eventually, startService, temporaryFolder } from '../harness.ts';
import { startLoad } from '../load.ts';

const MAIN = join(import.meta.dirname, '../../../src/main.ts');
const LINES = 2_000;

test.concurrent('answers deliveries and ends on SIGTERM while the log’s reader hangs', async (t) => {
  // Long enough for a busy machine.
  const sandbox = await startService(t, { products: 20, ackTimeoutMs: 10_000 });
  const folder = temporaryFolder(t);
  const child = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      ...environmentFor(sandbox, join(folder, 'mirror.db')),
      LOG_LEVEL: 'debug',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  t.onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  let url = '';
  for await (const line of lines) {
    const { msg, webhooks = '' } = JSON.parse(line) as { msg?: string; webhooks?: string };
    if (msg !== 'listening') continue;
    url = webhooks;
    break;
  }
  sandbox.webhookUrl = url;
  child.stdout.pause();

  const { port } = new URL(url);
  for (let n = 0; n < LINES; n += 1) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('POST /webhooks HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc', () =>
      socket.destroy(),
    );
    await once(socket, 'close');
  }
  const load = startLoad(t, sandbox, 60);
  await eventually(() => load.settled.length > 200, { what: 'load' });
  load.stop();
  await sandbox.network.idle();
  expect(new Set(sandbox.deliveries.records.map(({ status }) => status))).toEqual(new Set([204]));

  child.kill('SIGTERM');
  await ended;
});
