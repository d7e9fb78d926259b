import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { environmentFor, eventually, startService, temporaryFolder, type Json } from '../harness.ts';

const MAIN = join(import.meta.dirname, '../../../src/main.ts');

test.skipIf(process.platform !== 'linux')(
  'reports connections beyond the limit of open files as a cause',
  async (t) => {
    const sandbox = await startService(t, { ackTimeoutMs: 10_000 });
    const folder = temporaryFolder(t);
    const child = spawn('sh', ['-c', 'ulimit -n 150; exec "$@"', 'sh', process.execPath, MAIN], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', ...environmentFor(sandbox, join(folder, 'mirror.db')) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.onTestFinished(() => void child.kill('SIGKILL'));
    const log: Json[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => log.push(JSON.parse(line) as Json));
    const logged = (isIt: (line: Json) => boolean): Promise<Json> =>
      eventually(() => log.find(isIt), { what: 'the line is logged' });
    const listening = await logged(({ msg }) => msg === 'listening');
    const { port } = new URL(String(listening['webhooks']));

    const sockets = Array.from({ length: 150 }, () => connect(Number(port), '127.0.0.1').resume());
    for (const socket of sockets) socket.on('error', () => undefined);
    await logged((line) => line['cause'] === 'requests_refused');
    const status = (await (await fetch(`${String(listening['ops'])}api/status`)).json()) as Json;
    expect(JSON.stringify(status['causes'])).toContain('raise the open-file limit');

    await Promise.all(sockets.map(async (socket) => socket.destroyed || once(socket.destroy(), 'close')));
    sandbox.webhookUrl = String(listening['webhooks']);
    sandbox.traffic.start(20);
    await eventually(() => sandbox.deliveries.counts.answered > 5, { what: 'deliveries are answered again' });
    sandbox.traffic.stop();
  },
);
